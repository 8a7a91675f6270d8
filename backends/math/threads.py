"""One thread for the linear algebra of NumPy and SciPy.

Our matrices are small (hundreds of rows), where a second BLAS thread only waits for the first:
on two busy cores the PCA of 30 layers took 13.9 s with two threads and 0.35 s with one. One thread
also means that a result does not depend on how many cores a machine has. Torch keeps its own.
"""

from functools import cache


@cache
def use_one_blas_thread() -> None:
    """Limit the BLAS libraries of this process to one thread, for good."""
    import scipy.linalg  # noqa: F401 - loads SciPy's own BLAS, which the limit has to find
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
