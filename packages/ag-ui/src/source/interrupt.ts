import { type Question, ReplyError } from '@reply/core'
import type { LocalAnswer } from '@reply/core/source'
import type { AnswerForm, Field } from './decode/answer-form.ts'
import type { Interrupt } from './decode/event.ts'

/** The answer to one interrupt, as the next run carries it. */
export interface AgUiResumeEntry {
  /** The interrupt that it answers. */
  readonly interruptId: string
  /** `cancelled`: the person gave no answer. */
  readonly status: 'resolved' | 'cancelled'
  /** The answer, in the shape that the interrupt asked for. Absent if it was cancelled. */
  readonly payload?: unknown
  /** Has the `reason` of a rejection, for agents whose answers have no place for it. Absent without a reason. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Returns an interrupt's fields as questions, in order. The first one begins with the interrupt's message. */
export function questionsOf({ message, reason }: Interrupt, fields: readonly Field[]): readonly Question[] {
  return fields.map(({ title, description, choices, multiple, custom, name }, at) => {
    const own = description || (title === name && at === 0 && message !== undefined ? '' : title)
    const paragraphs = [at === 0 ? (message ?? '') : '', own].filter((paragraph) => paragraph !== '')
    return {
      header: title,
      question: paragraphs.join('\n\n') || reason || 'The agent waits for an answer.',
      options: choices.map(({ label, description: about }) => ({ label, description: about })),
      multiple,
      custom,
    }
  })
}

/**
 * Returns what the agent gets for a person's answer. Throws `invalid` if a number is expected and the answer is another text.
 */
export function resumeEntryOf({ id }: Interrupt, form: AnswerForm, answer: LocalAnswer): AgUiResumeEntry {
  const resolved = (payload: unknown): AgUiResumeEntry => ({ interruptId: id, status: 'resolved', payload })
  if (answer.type === 'canceled') return { interruptId: id, status: 'cancelled' }
  if (form.type === 'approval') {
    const { once, reject, always, withReason } = form
    if (answer.type === 'once' || answer.type === 'always') {
      const allowed = answer.type === 'always' && always ? always.value : once
      if (allowed !== undefined) return resolved(allowed)
      throw new ReplyError('invalid', 'This can only be rejected here. Allow it where the agent runs.')
    }
    const reason = answer.type === 'rejected' ? answer.message : undefined
    if (reason === undefined) return resolved(reject)
    return { ...resolved(withReason ? withReason(reason) : reject), metadata: { reason } }
  }
  if (answer.type !== 'answered') return { interruptId: id, status: 'cancelled' }
  const values = form.fields.map((field, at) => fieldValue(field, answer.answers[at] ?? []))
  if (form.type === 'single') return resolved(values[0])
  if (form.type === 'list') return resolved(values)
  const named = form.fields.map(({ name }, at) => [name, values[at]] as const)
  return resolved(Object.fromEntries(named.filter(([, value]) => value !== undefined)))
}

/** Returns the value of a field for a person's labels or words. Undefined for a single value without any. */
function fieldValue(field: Field, given: readonly string[]): unknown {
  const values = given.map((label) => {
    const choice = field.choices.find((each) => each.label === label)
    return choice ? choice.value : ownValue(field, label)
  })
  return field.isList ? values : values[0]
}

/** Returns the value that a person's own words stand for. Throws `invalid` if they should be a number, and aren't. */
function ownValue({ type, title }: Field, words: string): unknown {
  if (type === 'text') return words
  if (type === 'json') return jsonOr(words)
  const value = words.trim() === '' ? Number.NaN : Number(words)
  if (type === 'integer' ? Number.isInteger(value) : Number.isFinite(value)) return value
  const what = type === 'integer' ? 'a whole number' : 'a number'
  throw new ReplyError('invalid', `${title || 'The answer'} must be ${what}, not ${JSON.stringify(words)}.`)
}

/** Returns the object, list, number or boolean that a text is as JSON. Otherwise the text itself. */
function jsonOr(words: string): unknown {
  try {
    const value: unknown = JSON.parse(words)
    return value === null ? words : value
  } catch {
    return words
  }
}
