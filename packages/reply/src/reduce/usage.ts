import type { StepFinishPart } from '../part.ts'
import type { Reply, Usage } from '../reply.ts'

/** The sum over the reply's finished steps. A step that is told of twice is one part, so it counts once. */
export function usageOf(reply: Reply): Usage {
  const { contextLimit } = reply.usage
  let usage: Usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0, contextLimit }
  for (const message of reply.messages) {
    for (const part of message.parts) if (part.type === 'step-finish') usage = plusStep(usage, part)
  }
  return usage
}

/** With one more step, the last so far. */
export function plusStep(usage: Usage, { tokens, cost }: StepFinishPart): Usage {
  return {
    input: usage.input + tokens.input,
    output: usage.output + tokens.output,
    reasoning: usage.reasoning + tokens.reasoning,
    cacheRead: usage.cacheRead + tokens.cacheRead,
    cacheWrite: usage.cacheWrite + tokens.cacheWrite,
    cost: usage.cost + cost,
    steps: usage.steps + 1,
    contextTokens: tokens.input + tokens.output + tokens.reasoning + tokens.cacheRead + tokens.cacheWrite,
    contextLimit: usage.contextLimit,
  }
}
