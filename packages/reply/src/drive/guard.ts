import { type OnError, ReplyError } from '../error.ts'

/** A caller's function that cannot hurt: what it throws goes to `onError`. */
export function guarded<A extends readonly unknown[]>(
  name: string,
  call: ((...given: A) => void) | undefined,
  onError: OnError,
): ((...given: A) => void) | undefined {
  if (!call) return undefined
  return (...given) => {
    try {
      call(...given)
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause)
      onError(new ReplyError('observer', `"${name}" failed: ${words}.`, { cause }))
    }
  }
}

/** The caller's `onError`, which has nobody to tell when it fails itself. */
export function guardedOnError(onError: OnError): OnError {
  return (error) => {
    try {
      onError(error)
    } catch {
      // Told to nobody: the connection must not end with whoever wanted to hear of its errors.
    }
  }
}
