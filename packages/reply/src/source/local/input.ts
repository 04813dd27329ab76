import { ReplyError } from '../../error.ts'
import type { ReplyFailure } from '../../part.ts'
import { redactStrings } from '../../redact/redact-strings.ts'
import { sentenceOf } from '../../text/sentence.ts'
import type { InputPart } from '../input.ts'
import type { SourceAnswer, SourcePrompt } from '../port.ts'
import type { LocalAnswer } from './output.ts'

/** The prompt's text, parts and files as one list, in that order. */
export function partsOf({ text, parts = [], files = [] }: SourcePrompt): readonly InputPart[] {
  const first: readonly InputPart[] = text === undefined || text === '' ? [] : [{ type: 'text', text }]
  return [...first, ...parts, ...files.map((file): InputPart => ({ type: 'file', ...file }))]
}

export function toAnswer(answer: SourceAnswer): LocalAnswer {
  if (answer === 'once' || answer === 'always') return { type: answer }
  return { type: 'answered', answers: answer }
}

export function failureOf(error: unknown): ReplyFailure {
  const name = error instanceof ReplyError ? error.type : 'UnknownError'
  return { name, message: error instanceof Error ? error.message : String(error), raw: undefined }
}

/**
 * The failure to show people: its message is one sentence without secrets. `raw` keeps the rest of the agent's message.
 */
export function withoutSecrets(failure: ReplyFailure, redact: (text: string) => string): ReplyFailure {
  const all = redact(failure.message)
  const message = sentenceOf(all)
  const raw = failure.raw ?? (message === all ? undefined : all)
  return { ...failure, message, raw: redactStrings(raw, redact) }
}

/** Resolves to true when the promise has resolved, and to false as soon as the signal aborts. */
export async function withoutAbort(promise: Promise<void>, signal: AbortSignal): Promise<boolean> {
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
