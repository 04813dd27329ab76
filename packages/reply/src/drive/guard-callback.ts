import { type OnError, ReplyError } from '../error.ts'

/** Wraps a user's callback so that its errors go to `onError`. */
export function reportingErrors<A extends readonly unknown[]>(
  name: string,
  call: ((...given: A) => void) | undefined,
  onError: OnError,
): ((...given: A) => void) | undefined {
  if (!call) return undefined
  return (...given) => {
    try {
      call(...given)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      onError(new ReplyError('observer', `"${name}" failed: ${reason}.`, { cause }))
    }
  }
}
