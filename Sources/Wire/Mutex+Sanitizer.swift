import CPushSimSystem
package import Synchronization

extension Mutex {
    /// The same as `withLock`, for a lock that threads wait for: the thread sanitizer, which does not see that waiting, is
    /// told of it.
    /// - Parameter owner: stands for the lock, and has only this one.
    package borrowing func withLock<Result>(
        of owner: AnyObject, _ body: (inout Value) -> sending Result
    ) -> sending Result {
        let address = Unmanaged.passUnretained(owner).toOpaque()
        return withLock { value in
            pushsim_lock_taken(address)
            defer { pushsim_lock_released(address) }
            return body(&value)
        }
    }
}
