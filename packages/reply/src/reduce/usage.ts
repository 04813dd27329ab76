import type { Reply, Usage } from '../reply.ts'

/** The sum over the reply's finished steps. A step that is told of twice is one part, so it counts once. */
export function usageOf(reply: Reply): Usage {
  let [input, output, reasoning, cacheRead, cacheWrite, cost, steps] = [0, 0, 0, 0, 0, 0, 0]
  let contextTokens: number | undefined
  for (const message of reply.messages) {
    for (const part of message.parts) {
      if (part.type !== 'step-finish') continue
      const { tokens } = part
      input += tokens.input
      output += tokens.output
      reasoning += tokens.reasoning
      cacheRead += tokens.cacheRead
      cacheWrite += tokens.cacheWrite
      cost += part.cost
      steps += 1
      contextTokens = tokens.input + tokens.output + tokens.reasoning + tokens.cacheRead + tokens.cacheWrite
    }
  }
  const { contextLimit } = reply.usage
  return { input, output, reasoning, cacheRead, cacheWrite, cost, steps, contextTokens, contextLimit }
}
