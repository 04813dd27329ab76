import { ReplyError } from '../../error.ts'
import type { ReplyFailure } from '../../part.ts'
import { redactStrings } from '../../redact/redact-strings.ts'
import { sentenceOf } from '../../text/sentence.ts'
import type { InputPart } from '../input.ts'
import type { SourceAnswer, SourcePrompt } from '../port.ts'
import type { LocalAnswer } from './output.ts'

/** Returns a prompt's text, parts and files as one list, in that order. An empty text is left out. */
export function promptPartsOf({ text, parts = [], files = [] }: SourcePrompt): readonly InputPart[] {
  const first: readonly InputPart[] = text === undefined || text === '' ? [] : [{ type: 'text', text }]
  return [...first, ...parts, ...files.map((file): InputPart => ({ type: 'file', ...file }))]
}

/** Converts the answer of a caller of `Source.answer` to the one that the agent's ask takes. */
export function toLocalAnswer(answer: SourceAnswer): LocalAnswer {
  if (answer === 'once' || answer === 'always') return { type: answer }
  return { type: 'answered', answers: answer }
}

/** Converts a caught error to a failure. Its name is the type of a `ReplyError`, otherwise `UnknownError`. */
export function failureFrom(error: unknown): ReplyFailure {
  const name = error instanceof ReplyError ? error.type : 'UnknownError'
  return { name, message: error instanceof Error ? error.message : String(error), raw: undefined }
}

/**
 * Returns the failure to show to people: its name has no secrets, its message is one sentence without them. `raw` has the rest of the
 * message.
 */
export function withoutSecrets(failure: ReplyFailure, redact: (text: string) => string): ReplyFailure {
  const redacted = redact(failure.message)
  const message = sentenceOf(redacted)
  const raw = failure.raw ?? (message === redacted ? undefined : redacted)
  return { ...failure, name: redact(failure.name), message, raw: redactStrings(raw, redact) }
}

/**
 * Resolves to true when the promise has resolved, and to false as soon as the signal aborts. Rejects if the promise
 * does first.
 */
export async function resolvesBeforeAbort(promise: Promise<void>, signal: AbortSignal): Promise<boolean> {
  let stop = (): void => {}
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    if (!signal.aborted) await Promise.race([promise, aborted])
    return !signal.aborted
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
