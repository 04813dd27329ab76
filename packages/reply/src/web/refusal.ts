import { ReplyError, safeOnError } from '../error.ts'

/** Why a request is refused. The message is the body of the response, so it is written for people and has no secrets. */
export class Refusal extends Error {
  /** The status of the response. */
  readonly status: number
  /** More headers of the response. */
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
  }
}

/** What to say of an ask that can't be answered any more. */
export const alreadyAnswered =
  'This was answered before, here or elsewhere, or it was withdrawn. Your answer was not sent. Load the reply again to see what happened.'

/**
 * Throws a `Refusal` unless all answers are allowed. Only `true` allows, because a host's function may return a string or a `Response`
 * to refuse.
 */
export async function requireAllowed<Answer>(
  answers: readonly Answer[],
  mayAnswer: (answer: Answer) => unknown,
): Promise<void> {
  for (const answer of answers)
    if ((await mayAnswer(answer)) !== true) throw new Refusal(403, 'You may not answer this. Ask someone who may.')
}

/** Returns the response of a refusal: its sentence as plain text. */
export function refusalResponse({ status, message, headers }: Refusal): Response {
  return new Response(message, {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  })
}

/**
 * Returns the refusal that a browser gets for an error. Messages of unexpected errors may name servers and paths, so they only go to
 * `onError`. `unknown` is the refusal of a session that doesn't exist.
 */
export function toRefusal(
  error: unknown,
  { unknown, onError }: { readonly unknown: () => Refusal; readonly onError: ((error: unknown) => void) | undefined },
): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof ReplyError) {
    if (error.type === 'already-resolved') return new Refusal(409, alreadyAnswered)
    if (error.type === 'invalid') return new Refusal(409, error.message)
    if (error.type === 'gone') return unknown()
  }
  reportSafely(onError, error)
  if (!(error instanceof ReplyError)) return failedRefusal()
  if (error.type === 'not-stopped') return new Refusal(502, 'The agent did not confirm that it stopped. Try again.')
  return new Refusal(502, "The agent can't be reached now. Try again.")
}

/** The refusal of a request that failed on the host's side. */
export function failedRefusal(): Refusal {
  return new Refusal(500, "The request failed. The server's log says why.")
}

/** Reports an error to the host. An error of its function is dropped, because there is nowhere left to report it. */
export function reportSafely(onError: ((error: unknown) => void) | undefined, error: unknown): void {
  safeOnError(onError)(error)
}
