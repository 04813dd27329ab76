import type { StepFinishPart } from '../part.ts'
import type { Message, Reply, Usage } from '../reply.ts'

/** The sum over the reply's finished steps. A step that is told of twice is one part, so it counts once. */
export function usageOf(reply: Reply): Usage {
  return stepsOf(reply.messages).reduce(plusStep, noUsage(reply))
}

/** What the usage would be without a message's first finished step and those after it in the message, without its second … */
export function usagesBefore(reply: Reply, at: number): Usage[] {
  const message = reply.messages[at]
  let usage = stepsOf(reply.messages.slice(0, at)).reduce(plusStep, noUsage(reply))
  const later = stepsOf(reply.messages.slice(at + 1))
  return stepsOf(message ? [message] : []).map((step) => {
    const before = later.reduce(plusStep, usage)
    usage = plusStep(usage, step)
    return before
  })
}

function noUsage({ usage: { contextLimit } }: Reply): Usage {
  return { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0, contextLimit }
}

function stepsOf(messages: readonly Message[]): readonly StepFinishPart[] {
  return messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'step-finish'))
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
