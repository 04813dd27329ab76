import { promptOf, type Reply, totalUsage } from '@reply/core'
import { reasonIn } from '@reply/core/show'
import type { UIChunk, UIMetadata, UIPrompt } from '../chunk.ts'

type FinishReason = Extract<UIChunk, { type: 'finish' }>['finishReason']

/** The model's reasons that the AI SDK knows, by all names that providers give them. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content-filter',
  'tool-calls': 'tool-calls',
}

/** Why the message ends. One that waits for a person ends like one that waits for the page's tools. */
export function finishReasonOf({ phase, outcome, finish = '' }: Reply): FinishReason {
  if (phase !== 'settled') return 'tool-calls'
  if (outcome === 'failed' || outcome === 'timed-out' || outcome === 'lost') return 'error'
  if (outcome !== 'completed') return 'other'
  return Object.hasOwn(finishReasons, finish) ? (finishReasons[finish] ?? 'stop') : 'stop'
}

/** The prompts that joined the reply, as far as they are known. */
export function promptsOf(reply: Reply): readonly UIPrompt[] {
  return reply.promptIDs.slice(1).flatMap((id): readonly UIPrompt[] => {
    const prompt = promptOf(reply, id)
    return prompt ? [{ id, text: prompt.text, files: prompt.files }] : []
  })
}

/** The metadata of a message that ends. Errors are in it, because `useChat` drops the message's end after an error chunk. */
export function finishMetadata(reply: Reply): UIMetadata {
  const { sessionID, outcome, lostReason, model, error } = reply
  const { cost, contextTokens, contextLimit, input, output, reasoning, cacheRead, cacheWrite, steps } =
    totalUsage(reply)
  return {
    sessionID,
    ...(outcome && { outcome }),
    ...(lostReason && { lostReason }),
    ...(model && { model: { providerID: model.providerID, modelID: model.modelID } }),
    usage: {
      input,
      output,
      reasoning,
      cacheRead,
      cacheWrite,
      steps,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(contextLimit !== undefined && { contextLimit }),
    },
    cost,
    ...(error && outcome && { error: { name: error.name, message: reasonIn(error.message) } }),
  }
}
