import { type OnError, ReplyError } from '../error.ts'

/**
 * Returns a callback that passes an error of the user's callback to `onError` as `observer`, instead of throwing it.
 * Undefined if there is no callback. `name` is for the error's message.
 */
export function reportingErrors<A extends readonly unknown[]>(
  name: string,
  call: ((...args: A) => void) | undefined,
  onError: OnError,
): ((...args: A) => void) | undefined {
  if (!call) return undefined
  return (...args) => {
    try {
      call(...args)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      onError(new ReplyError('observer', `"${name}" failed: ${reason}.`, { cause }))
    }
  }
}
