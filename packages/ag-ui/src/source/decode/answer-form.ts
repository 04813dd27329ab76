import * as z from 'zod'
import type { Interrupt } from './event.ts'

/** One choice: the value for the agent, and the label for people. */
export interface Choice {
  readonly value: unknown
  readonly label: string
  readonly description: string
}

/** One value that a person gives. */
export interface Field {
  /** Its name in the answer. Empty if the answer has no names. */
  readonly name: string
  readonly title: string
  readonly description: string
  /** Empty for free text. */
  readonly choices: readonly Choice[]
  /** Whether the value is a list, whose length `multiple` tells. */
  readonly isList: boolean
  readonly multiple: boolean
  /** Whether free text is allowed. */
  readonly custom: boolean
  /** `json`: any value. Free text that is JSON then becomes that value. */
  readonly type: 'text' | 'number' | 'integer' | 'json'
}

/** What an interrupt expects as its answer. */
export type AnswerForm =
  /** The values that allow and reject. `withReason` adds a person's words to a rejection. */
  | {
      readonly type: 'approval'
      /** Undefined if it can only be rejected here. */
      readonly once: unknown
      readonly reject: unknown
      /** Undefined if it can't be allowed for good. */
      readonly always: { readonly value: unknown; readonly label: string } | undefined
      readonly withReason: ((reason: string) => unknown) | undefined
    }
  /** The answer is the value of its only field. */
  | { readonly type: 'single'; readonly fields: readonly [Field] }
  /** The answer is a list with a value for each field. */
  | { readonly type: 'list'; readonly fields: readonly Field[] }
  /** The answer is an object with a value for each field. */
  | { readonly type: 'object'; readonly fields: readonly Field[] }

const optionalText = z.string().optional().catch(undefined)

const schemaSchema = z.looseObject({
  type: z.unknown().optional(),
  title: optionalText,
  description: optionalText,
  enum: z.array(z.unknown()).optional().catch(undefined),
  const: z.unknown().optional(),
  oneOf: z.array(z.unknown()).optional().catch(undefined),
  anyOf: z.array(z.unknown()).optional().catch(undefined),
  items: z.unknown().optional(),
  maxItems: z.number().optional().catch(undefined),
  prefixItems: z.array(z.unknown()).optional().catch(undefined),
  properties: z.record(z.string(), z.unknown()).optional().catch(undefined),
  required: z.array(z.string()).optional().catch(undefined),
})

type JsonSchema = z.infer<typeof schemaSchema>

/** Reads a JSON Schema. One that is not an object allows any value. */
function toSchema(raw: unknown): JsonSchema {
  const { data } = schemaSchema.safeParse(raw)
  return data ?? { type: undefined, const: undefined, items: undefined }
}

/** The type of a schema's values. The first one that is not `null` if it has several. */
function typeOf({ type }: JsonSchema): string | undefined {
  const first = Array.isArray(type) ? type.find((each) => each !== 'null') : type
  return typeof first === 'string' ? first : undefined
}

const approvedNames = /^(is)?(approved?|accept(ed)?|confirm(ed|ation)?|allow(ed)?|proceed)$/i
const decisionNames = /^(decision|action|answer|response|reply|choice|type)$/i
const reasonNames = /^(reason|feedback|message|comment|note)$/i
const onceWords = /^(once|yes|approved?|allow(ed|[_-]once)?|accept(ed)?|confirm(ed)?|ok|proceed|continue)$/i
const alwaysWords = /^(always|(allow|approve|accept|yes)[_-]always|always[_-](allow|approve))$/i
const rejectWords = /^(no|reject(ed|[_-]once)?|den(y|ied)|declined?|cancel|disallow|abort|stop)$/i
const approvalReasons = /approv|confirm|permission|^tool_call$/i

const actionsSchema = z.array(z.looseObject({ name: z.string(), args: z.unknown().optional() })).min(1)
const reviewSchema = z.union([
  z.looseObject({ action_requests: actionsSchema }).transform((each) => each.action_requests),
  z.looseObject({ actionRequests: actionsSchema }).transform((each) => each.actionRequests),
])

/**
 * Returns the call that LangChain's review of tool calls is about, or all of them as one. Undefined for any other interrupt.
 * https://docs.langchain.com/oss/python/langchain/human-in-the-loop
 */
export function reviewedCallOf({ value }: Interrupt) {
  const actions = reviewSchema.safeParse(value).data
  const [first, ...others] = actions ?? []
  if (!actions || !first) return undefined
  if (others.length === 0) return { toolName: first.name, input: first.args, count: 1 }
  const names = actions.map(({ name }) => name).join(', ')
  return { toolName: names, input: { calls: actions.map(({ name, args }) => ({ name, args })) }, count: actions.length }
}

/** Returns the approval that gives all calls of a review the same decision. */
function reviewOf(count: number): AnswerForm {
  const decide = (decision: Readonly<Record<string, string>>): unknown => ({
    decisions: Array.from({ length: count }, () => decision),
  })
  return {
    type: 'approval',
    once: decide({ type: 'approve' }),
    reject: decide({ type: 'reject' }),
    always: undefined,
    withReason: (message) => decide({ type: 'reject', message }),
  }
}

/** Returns the form of answer that an interrupt expects. Without a schema that tells, its reason decides whether it is an approval. */
export function answerFormOf(interrupt: Interrupt): AnswerForm {
  const { schema, reason, message, toolCallID } = interrupt
  const review = reviewedCallOf(interrupt)
  if (review) return reviewOf(review.count)
  if (schema) return approvalOf(toSchema(schema), toolCallID !== undefined) ?? formOf(toSchema(schema))
  if (approvalReasons.test(reason) && (toolCallID !== undefined || message !== undefined))
    return approvedObject('approved', 'reason')
  return { type: 'single', fields: [{ ...fieldOf('', toSchema({})), custom: true }] }
}

/** How deep the notes of a schema are looked for. Forms have two levels. */
const maxNoteDepth = 8

/**
 * Returns the texts for people in the schema of an approval: its descriptions, and the titles of its choices. A chat
 * has its own words for these, so that a person would decide without them.
 */
export function notesOf(schema: unknown, depth = 0): readonly string[] {
  const { title, description, oneOf = [], anyOf = [], properties = {}, const: value } = toSchema(schema)
  const own = [value === undefined ? '' : (title ?? ''), description ?? ''].filter((text) => !isPlainWord(text.trim()))
  if (depth === maxNoteDepth) return own
  // The field for a reason is not shown.
  const fields = Object.entries(properties).flatMap(([name, field]) => (reasonNames.test(name) ? [] : [field]))
  return [...new Set([...own, ...[...oneOf, ...anyOf, ...fields].flatMap((each) => notesOf(each, depth + 1))])]
}

function isPlainWord(text: string): boolean {
  return text === '' || [onceWords, alwaysWords, rejectWords, approvedNames].some((words) => words.test(text))
}

/**
 * Reads a schema as the approval of an action. Undefined for any other. Of the choices about a call, others than yes
 * and no are not offered: as a question, people who may not allow anything could answer it.
 */
function approvalOf(schema: JsonSchema, isOfCall: boolean): AnswerForm | undefined {
  if (typeOf(schema) === 'boolean')
    return { type: 'approval', once: true, reject: false, always: undefined, withReason: undefined }
  return (
    approvalOfChoices(choicesOf(schema), isOfCall, (value) => value) ??
    approvalOfObject(schema, isOfCall) ??
    approvalOfObjects([...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].map(toSchema))
  )
}

/** Reads choices such as "approve" and "reject" as an approval. `answer` makes the answer from a choice's value. */
function approvalOfChoices(
  choices: readonly Choice[],
  isOfCall: boolean,
  answer: (value: unknown) => unknown,
): AnswerForm | undefined {
  const find = (words: RegExp): Choice | undefined =>
    choices.find(({ value }) => typeof value === 'string' && words.test(value))
  const once = find(onceWords)
  const reject = find(rejectWords)
  const always = find(alwaysWords)
  const isOther = choices.length !== [once, reject, always].filter((each) => each !== undefined).length
  if (!reject || (isOther && !(isOfCall && once))) return undefined
  return {
    type: 'approval',
    once: once && answer(once.value),
    reject: answer(reject.value),
    always: always && { value: answer(always.value), label: always.label },
    withReason: undefined,
  }
}

/** Reads an object with a field such as `approved` or `decision` as an approval, if it needs no other field. */
function approvalOfObject({ properties = {}, required = [] }: JsonSchema, isOfCall: boolean): AnswerForm | undefined {
  const names = Object.keys(properties)
  const reason = names.find((name) => reasonNames.test(name))
  const isEnough = (field: string): boolean => required.every((name) => name === field || name === reason)
  const approved = names.find((name) => approvedNames.test(name) && typeOf(toSchema(properties[name])) === 'boolean')
  if (approved !== undefined && isEnough(approved)) return approvedObject(approved, reason)
  const decision = names.find((name) => decisionNames.test(name))
  if (decision === undefined || !isEnough(decision)) return undefined
  return approvalOfChoices(choicesOf(toSchema(properties[decision])), isOfCall, (value) => ({ [decision]: value }))
}

/** Reads alternatives that differ in a constant such as `approved` as an approval. The other fields must be optional. */
function approvalOfObjects(alternatives: readonly JsonSchema[]): AnswerForm | undefined {
  const names = Object.keys(alternatives[0]?.properties ?? {}).filter((name) => approvedNames.test(name))
  const name = names.find((each) =>
    [true, false].every((value) =>
      alternatives.some(
        ({ properties = {}, required = [] }) =>
          toSchema(properties[each]).const === value && required.every((field) => field === each),
      ),
    ),
  )
  return name === undefined ? undefined : approvedObject(name, undefined)
}

/** Returns the approval whose answer is an object with a field that is `true` or `false`. */
function approvedObject(name: string, reason: string | undefined): AnswerForm {
  const reject = { [name]: false }
  const withReason = reason === undefined ? undefined : (text: string) => ({ ...reject, [reason]: text })
  return { type: 'approval', once: { [name]: true }, reject, always: undefined, withReason }
}

/** Reads a schema as questions: one for each field of an object or of a list with fixed items, otherwise a single one. */
function formOf(schema: JsonSchema): AnswerForm {
  const { properties = {}, prefixItems = [] } = schema
  if (prefixItems.length > 0) return { type: 'list', fields: prefixItems.map((item) => fieldOf('', toSchema(item))) }
  const fields = Object.entries(properties).map(([name, property]) => fieldOf(name, toSchema(property)))
  return fields.length > 0 ? { type: 'object', fields } : { type: 'single', fields: [fieldOf('', schema)] }
}

/** Reads the schema of one value. */
function fieldOf(name: string, schema: JsonSchema): Field {
  const isList = typeOf(schema) === 'array'
  const items = isList ? toSchema(schema.items) : schema
  const choices = choicesOf(items)
  const kind = typeOf(items)
  return {
    name,
    title: schema.title ?? name,
    description: schema.description ?? '',
    choices,
    isList,
    multiple: isList && schema.maxItems !== 1,
    custom: choices.length === 0 || takesText(items),
    type: kind === 'number' || kind === 'integer' ? kind : kind === 'string' || choices.length > 0 ? 'text' : 'json',
  }
}

/** Whether one of a schema's alternatives is any text. */
function takesText({ oneOf = [], anyOf = [] }: JsonSchema): boolean {
  return [...oneOf, ...anyOf].map(toSchema).some((one) => typeOf(one) === 'string' && choicesOf(one).length === 0)
}

/** Returns the choices of a schema, also those of its alternatives: "Yes" and "No" for a boolean. Empty for free text. */
function choicesOf(schema: JsonSchema): readonly Choice[] {
  const { title, description = '', oneOf = [], anyOf = [] } = schema
  if (schema.enum) return schema.enum.map((value) => ({ value, label: labelOf(value), description: '' }))
  if (schema.const !== undefined) return [{ value: schema.const, label: title ?? labelOf(schema.const), description }]
  if (typeOf(schema) === 'boolean')
    return [
      { value: true, label: 'Yes', description: '' },
      { value: false, label: 'No', description: '' },
    ]
  return [...oneOf, ...anyOf].flatMap((one) => choicesOf(toSchema(one)))
}

/** Returns a value as a text for people. */
function labelOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
