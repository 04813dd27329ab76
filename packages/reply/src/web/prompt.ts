import type { Client } from '../client/client.ts'
import { observerOf } from '../observer.ts'
import type { Reply } from '../reply.ts'
import { createFeed, type Feed, untilReply } from './feed.ts'
import { failedRefusal, Refusal, reportSafely } from './refusal.ts'

/** A prompt of a request. */
export interface WebPrompt {
  /** Its stream. */
  readonly stream: ReturnType<Client['prompt']>
  /** Its reply. */
  readonly feed: Feed
  /** Resolves once the agent has it, or the signal aborts. Rejects with a `Refusal` if it ended before. */
  untilBegun(signal: AbortSignal): Promise<void>
}

/** What happens around a prompt. */
export interface WebPromptOptions {
  /** Awaited with the session before the prompt is posted. If it rejects, nothing is posted. */
  readonly onPosting: (sessionID: string) => Promise<void>
  /** Receives what went wrong. The browser doesn't learn it, because it may name servers. */
  readonly onError: ((error: unknown) => void) | undefined
}

/** Posts a prompt, and follows its reply. Throws a `Refusal` if the host's settings of the session don't fit each other. */
export function postPrompt(
  client: Pick<Client, 'prompt'>,
  input: Parameters<Client['prompt']>[0],
  { onPosting, onError }: WebPromptOptions,
): WebPrompt {
  const feed = createFeed()
  const stream = post()
  void stream.result.then((reply) => feed.update(reply))
  return {
    stream,
    feed,
    untilBegun: async (signal) => {
      const reply = await untilReply(
        feed,
        ({ promptIDs, phase }) => promptIDs.length > 0 || phase === 'settled',
        signal,
      )
      if (reply?.promptIDs.length === 0 && reply.phase === 'settled') throw notPosted(reply)
    },
  }

  function post(): WebPrompt['stream'] {
    try {
      return client.prompt(input, {
        observe: () => [observerOf(({ reply }) => feed.update(reply))],
        onPosting: ({ sessionID }) => onPosting(sessionID),
      })
    } catch (error) {
      reportSafely(onError, error)
      throw failedRefusal()
    }
  }

  function notPosted({ outcome, error }: Reply): Refusal {
    if (outcome === 'aborted') return new Refusal(409, 'The message was stopped before the agent got it.')
    reportSafely(onError, new Error(`A prompt was not posted: ${error?.message ?? outcome}`))
    return new Refusal(502, 'The message could not be passed to the agent. Try again.')
  }
}
