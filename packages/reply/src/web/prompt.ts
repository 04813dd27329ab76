import type { Client } from '../client/client.ts'
import { observerOf } from '../observer.ts'
import type { Reply } from '../reply.ts'
import type { PromptInput } from '../source/input.ts'
import { createFeed, type Feed, untilReply } from './feed.ts'
import type { WebSession } from './options.ts'
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
  /** Called with the session before the prompt is posted, which may be a new one. */
  readonly onPosting: (sessionID: string) => void
  /** Called once the host has stored a new session. */
  readonly onStored: () => void
  /** Receives what went wrong. The browser doesn't learn it, because it may name servers. */
  readonly onError: ((error: unknown) => void) | undefined
}

/**
 * Posts a prompt, and follows its reply. Without `sessionID` it begins a session, which the host stores first. Throws a `Refusal` if
 * the host's settings of the session don't fit each other.
 */
export function postPrompt(
  client: Pick<Client, 'prompt'>,
  { onCreated, sessionID, title, agent, model, variant, guarded, system, tools }: WebSession,
  { text, files }: Pick<PromptInput, 'text' | 'files'>,
  { onPosting, onStored, onError }: WebPromptOptions,
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
      const input = { sessionID, title, agent, model, variant, guarded, system, tools, text, files }
      return client.prompt(input, {
        observe: () => [observerOf(({ reply }) => feed.update(reply))],
        onPosting: async (posted) => {
          onPosting(posted.sessionID)
          if (sessionID !== undefined) return
          await onCreated?.(posted.sessionID)
          onStored()
        },
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
