import type { Part, StepFinishPart } from '../part.ts'
import type { Message, Reply, Usage } from '../reply.ts'
import { partLists } from './parts.ts'

/** The sum over the reply's finished steps. A step that is told of twice is one part, so it counts once. */
export function usageOf(reply: Reply): Usage {
  return withLimitOf(reply, sumOf(reply.messages))
}

/** What the usage would be without a message's first finished step and those after it in the message, without its second … */
export function usagesBefore(reply: Reply, at: number): Usage[] {
  let sum = sumOf(reply.messages.slice(0, at))
  const later = stepsOf(reply.messages.slice(at + 1))
  const laterSum = plusSteps(noUsage, later)
  const laterCosts = Float64Array.from(later, ({ cost }) => cost)
  return stepsOf(reply.messages.slice(at, at + 1)).map((step) => {
    const before = later.length === 0 ? sum : plusLater(sum, laterSum, laterCosts)
    sum = plusStep(sum, step)
    return withLimitOf(reply, before)
  })
}

/** Tokens are whole numbers, which come to the same in any order. Only the costs are added one by one, as `sumOf` adds them. */
function plusLater(usage: Usage, later: Usage, costs: Float64Array): Usage {
  let { cost } = usage
  // The time of all this is the steps times the later steps. `for … of` takes four times as long on numbers in a row.
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

/** With one more step, the last so far. */
export function plusStep(usage: Usage, step: StepFinishPart): Usage {
  return plusSteps(usage, [step])
}

const noUsage: Usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0 }

function withLimitOf({ usage: { contextLimit } }: Reply, sum: Usage): Usage {
  return { ...sum, contextLimit }
}

/**
 * From the first step to the last, never as a sum of sums: costs are fractions, and adding them in another order gives
 * another last digit.
 */
function sumOf(messages: readonly Message[]): Usage {
  let sum = noUsage
  for (const message of messages) for (const list of partLists(message)) sum = sumAfter(sum, list)
  return sum
}

interface ListSteps {
  readonly steps: readonly StepFinishPart[]
  /** What the sum was before this list when it was last asked for, and what it was after it. */
  before: Usage
  after: Usage
}

/** Of each list of parts. Most are the same from one event to the next, so that only those that changed are read again. */
const knownSteps = new WeakMap<readonly Part[], ListSteps>()

function stepsIn(list: readonly Part[]): ListSteps {
  const known = knownSteps.get(list)
  if (known) return known
  const steps = list.filter((part) => part.type === 'step-finish')
  const made = { steps, before: noUsage, after: plusSteps(noUsage, steps) }
  knownSteps.set(list, made)
  return made
}

function sumAfter(sum: Usage, list: readonly Part[]): Usage {
  const known = stepsIn(list)
  if (known.before !== sum) {
    known.after = plusSteps(sum, known.steps)
    known.before = sum
  }
  return known.after
}

function stepsOf(messages: readonly Message[]): readonly StepFinishPart[] {
  return messages.flatMap(partLists).flatMap((list) => stepsIn(list).steps)
}

/** The same object without any steps. One new object for all of them: one for each would take most of the time. */
function plusSteps(usage: Usage, steps: readonly StepFinishPart[]): Usage {
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
