import type { Part, StepFinishPart } from '../part.ts'
import type { Message, Reply, SummaryStep, Usage } from '../reply.ts'
import { partChunks } from './part-list.ts'

/** The sum over the reply's summaries and finished steps. A step reported twice is one part, so it counts once. */
export function usageOf(reply: Reply): Usage {
  const { messages } = reply
  return withContextOf(reply, sumOf(reply, messages.length), lastWithSteps(messages, messages.length))
}

/**
 * The reply's usage as each of the message's finished steps is removed, to report it while the message goes. Listed
 * from its first step: entry `n` excludes step `n` and the message's steps after it.
 */
export function usagesBefore(reply: Reply, messageIndex: number): Usage[] {
  let sum = sumOf(reply, messageIndex)
  const later = stepsOf(reply.messages.slice(messageIndex + 1))
  const laterSum = plusSteps(noUsage, later)
  const laterCosts = Float64Array.from(later, ({ cost }) => cost)
  const lastBefore = lastWithSteps(reply.messages, messageIndex)
  const lastLater = lastWithSteps(reply.messages, reply.messages.length)
  return stepsOf(reply.messages.slice(messageIndex, messageIndex + 1)).map((step, stepIndex) => {
    const before = later.length === 0 ? sum : plusLater(sum, laterSum, laterCosts)
    sum = plusStep(sum, step)
    const last = later.length > 0 ? lastLater : stepIndex > 0 ? messageIndex : lastBefore
    return withContextOf(reply, before, last)
  })
}

/**
 * The sum of two usages and the costs of the later steps, which are added one by one, in the order of `sumOf`. The
 * context is the later one's.
 */
function plusLater(usage: Usage, later: Usage, costs: Float64Array): Usage {
  let { cost } = usage
  // The hot loop: it runs once for each pair of a removed and a later step. `for … of` over a Float64Array takes four
  // times as long.
  for (let at = 0; at < costs.length; at++) cost += costs[at] ?? 0
  return {
    input: usage.input + later.input,
    output: usage.output + later.output,
    reasoning: usage.reasoning + later.reasoning,
    cacheRead: usage.cacheRead + later.cacheRead,
    cacheWrite: usage.cacheWrite + later.cacheWrite,
    cost,
    steps: usage.steps + later.steps,
    contextTokens: later.contextTokens,
  }
}

/** Adds the step that is now the last. */
export function plusStep(usage: Usage, step: StepFinishPart): Usage {
  return plusSteps(usage, [step])
}

const noUsage: Usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0 }

/**
 * The sum with the reply's context limit. Without context tokens if the last step, in the message at `last`, is from
 * before a compaction, because the context has changed since.
 */
function withContextOf({ usage: { contextLimit }, messages, compaction }: Reply, sum: Usage, lastIndex: number): Usage {
  const isBefore =
    compaction?.state === 'done' && lastIndex <= messages.findIndex(({ id }) => id === compaction.afterMessageID)
  return { ...sum, contextTokens: isBefore ? undefined : sum.contextTokens, contextLimit }
}

/** The index of the last message before `end` that has a finished step. -1 if none has. */
function lastWithSteps(messages: readonly Message[], end: number): number {
  for (let at = end - 1; at >= 0; at--) {
    const message = messages[at]
    if (message && partChunks(message).some((list) => cachedSteps(list).steps.length > 0)) return at
  }
  return -1
}

/**
 * The sum of the summaries and of the finished steps in the messages before `end`. Adds from the first step to the
 * last, never as a sum of sums: costs are floating-point, so another order could change the last digit.
 */
function sumOf({ messages, summaries = [] }: Reply, end: number): Usage {
  let sum = summaries.length === 0 ? noUsage : plusSummaries(summaries)
  for (const message of messages.slice(0, end)) for (const list of partChunks(message)) sum = plusList(sum, list)
  return sum
}

/**
 * The sum of the summaries, which don't set the context. First in the whole sum, so that a step at the end only adds to
 * it.
 */
function plusSummaries(summaries: readonly SummaryStep[]): Usage {
  return { ...plusSteps(noUsage, summaries), contextTokens: undefined }
}

interface ListSteps {
  readonly steps: readonly StepFinishPart[]
  /** The running sum before this list at the last call, and the sum after it. */
  before: Usage
  after: Usage
}

/** Cached by list of parts: most lists don't change between events, so only changed ones are read again. */
const stepsByList = new WeakMap<readonly Part[], ListSteps>()

/** The finished steps in a list of parts, and their sum. Cached by list. */
function cachedSteps(list: readonly Part[]): ListSteps {
  const known = stepsByList.get(list)
  if (known) return known
  const steps = list.filter((part) => part.type === 'step-finish')
  const made = { steps, before: noUsage, after: plusSteps(noUsage, steps) }
  stepsByList.set(list, made)
  return made
}

/** Adds the steps of a list. Returns the cached sum if neither the list nor the sum before it changed. */
function plusList(sum: Usage, list: readonly Part[]): Usage {
  const known = cachedSteps(list)
  if (known.before !== sum) {
    known.after = plusSteps(sum, known.steps)
    known.before = sum
  }
  return known.after
}

/** The finished steps of these messages, in order. */
function stepsOf(messages: readonly Message[]): readonly StepFinishPart[] {
  return messages.flatMap(partChunks).flatMap((list) => cachedSteps(list).steps)
}

/**
 * Adds the steps' tokens and costs. The last step's tokens are the context. Returns the same object if there are no
 * steps.
 */
function plusSteps(usage: Usage, steps: readonly Pick<StepFinishPart, 'tokens' | 'cost'>[]): Usage {
  const last = steps[steps.length - 1]?.tokens
  if (!last) return usage
  let { input, output, reasoning, cacheRead, cacheWrite, cost } = usage
  for (const { tokens, cost: own } of steps) {
    input += tokens.input
    output += tokens.output
    reasoning += tokens.reasoning
    cacheRead += tokens.cacheRead
    cacheWrite += tokens.cacheWrite
    cost += own
  }
  return {
    input,
    output,
    reasoning,
    cacheRead,
    cacheWrite,
    cost,
    steps: usage.steps + steps.length,
    contextTokens: last.input + last.output + last.reasoning + last.cacheRead + last.cacheWrite,
    contextLimit: usage.contextLimit,
  }
}
