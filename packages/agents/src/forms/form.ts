import type { Question } from '@reply/core'
import { ReplyError } from '@reply/core'
import type { LocalAnswer } from '@reply/core/source'
import { type FormSchema, type Property, questionOfNote } from './decode.ts'

/** What a field may be filled in with. */
type Value = string | number | boolean | string[]

/** A form that a person fills in, or an address that a person visits. */
export interface Form {
  /** The MCP server that asks. Absent if it is unknown. */
  readonly server?: string | undefined
  /** What it is about. Shown with the first question. */
  readonly message: string
  /** Absent for a form without fields, which only wants a "Yes". */
  readonly schema: FormSchema | undefined
  /** The address, on the web. Absent for a form. */
  readonly url?: string | undefined
}

/** The filled-in form, as MCP and ACP expect it. Without `content` for an address. */
export type FormResponse =
  | { readonly action: 'accept'; readonly content?: Readonly<Record<string, Value>> | undefined }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' }

/**
 * Returns a form as questions, one per field, in its order. A form without fields becomes a "Yes" question, and an
 * address a "Done" question. The first question also has the message, with the name of the server before it if it is
 * known. Throws if the address is not a URL.
 */
export function formQuestions(form: Form): readonly Question[] {
  const { server, url } = form
  const message = server === undefined ? form.message : `${server} asks: ${form.message}`
  if (url !== undefined) {
    const options = [{ label: 'Done', description: 'I have visited the address.' }]
    const question = `${message}\n\n<${new URL(url).href}>`
    return [{ header: server ?? '', question, options, multiple: false, custom: false }]
  }
  const fields = fieldsOf(form)
  if (fields.length === 0) {
    const options = [{ label: 'Yes', description: '' }]
    return [{ header: '', question: message, options, multiple: false, custom: false }]
  }
  return fields.map((field, at) => questionOf(field, at === 0 ? message : ''))
}

/** A field that becomes a question. */
interface Field {
  readonly name: string
  readonly field: Property
  /** The field that takes free text instead of a choice. */
  readonly custom?: string | undefined
}

/** With this choice, codex-acp expects free text in the question's note: USER_INPUT_OTHER_OPTION of codex-acp 2.6. */
const noneOfThese = 'None of the above'

/**
 * Returns the fields of a form that become questions, in its order. None for a form without fields.
 *
 * Claude's agent follows a question `question_0` with a text field `question_0_custom` for another answer
 * (askUserQuestionsToCreateRequest of claude-agent-acp 0.101). Codex's agent follows it with a note that names its
 * question (buildUserInputSchema of codex-acp 2.6). Both become one question here.
 */
function fieldsOf({ schema }: Form): readonly Field[] {
  const properties = schema?.properties ?? {}
  /** Returns the name of the field that takes another answer for this one. Undefined if it has none. */
  const customOf = (name: string): string | undefined => {
    const note = Object.keys(properties).find((other) => questionOfNote(properties[other]) === name)
    if (note !== undefined) return note
    const custom = `${name}_custom`
    const isText = properties[custom]?.type === 'string' && choicesOf(properties[custom]).length === 0
    return /^question_\d+$/.test(name) && isText ? custom : undefined
  }
  const customNames = new Set(Object.keys(properties).map(customOf))
  return Object.entries(properties).flatMap(([name, field]) =>
    customNames.has(name) ? [] : [{ name, field, custom: customOf(name) }],
  )
}

/**
 * Returns the question of a field, after a message that may be empty. Without a description it asks by the title, and without
 * a message and a title by the name. A field without choices takes any answer.
 */
function questionOf({ name, field, custom }: Field, message: string): Question {
  const paragraphs = [message, field.description ?? field.title ?? (message === '' ? name : '')]
  return {
    header: field.title ?? name,
    question: paragraphs.filter((paragraph) => paragraph !== '').join('\n\n'),
    options: choicesOf(field).flatMap(({ label, description }) =>
      custom !== undefined && label === noneOfThese ? [] : [{ label, description }],
    ),
    multiple: field.type === 'array',
    custom: custom !== undefined || choicesOf(field).length === 0,
  }
}

/** A choice of a field: the value that is sent, and what people read. */
interface Choice {
  readonly value: Value
  readonly label: string
  readonly description: string
}

/**
 * Returns the choices of a field: "Yes" and "No" for a boolean one, empty for one of numbers or free text. Choices without a
 * title have their value.
 */
function choicesOf(field: Property): readonly Choice[] {
  if (field.type === 'boolean')
    return [
      { value: true, label: 'Yes', description: '' },
      { value: false, label: 'No', description: '' },
    ]
  const titled = field.oneOf ?? field.items?.anyOf
  const plain = field.enum ?? field.items?.enum ?? []
  if (titled)
    return titled.map((one) => ({
      value: one.const,
      label: one.title ?? one.const,
      description: one.description ?? '',
    }))
  return plain.map((value) => ({ value, label: value, description: '' }))
}

/**
 * Returns the form filled in with a person's answer. A rejection declines it, and every answer other than `answered`
 * cancels it. Leaves out fields without an answer, except for lists, which are empty then. Another answer than the
 * choices goes to the field that takes it. If it is the only one, its question gets "None of the above" if it has that
 * choice, and no value otherwise. Throws `invalid` if a numeric field gets an answer that is not a number.
 */
export function formResponse(answer: LocalAnswer, form: Form): FormResponse {
  if (answer.type === 'rejected') return { action: 'decline' }
  if (answer.type !== 'answered') return { action: 'cancel' }
  if (form.url !== undefined) return { action: 'accept' }
  const content = fieldsOf(form).flatMap(({ name, field, custom }, at) => {
    const given = answer.answers[at] ?? []
    const isChoice = (label: string): boolean => choicesOf(field).some((choice) => choice.label === label)
    const ownAnswers = custom === undefined ? [] : given.filter((label) => !isChoice(label))
    const chosen = custom === undefined ? given : given.filter(isChoice)
    const isOnlyOwn = chosen.length === 0 && ownAnswers.length > 0
    const value = isOnlyOwn ? (isChoice(noneOfThese) ? noneOfThese : undefined) : fieldValue(name, field, chosen)
    return [
      ...(value === undefined ? [] : [[name, value] as const]),
      ...(custom !== undefined && ownAnswers.length > 0 ? [[custom, ownAnswers.join(', ')] as const] : []),
    ]
  })
  return { action: 'accept', content: Object.fromEntries(content) }
}

/**
 * Returns the value of a field for the chosen labels: a list of texts for an array, the first one's value for any
 * other. Any other label counts as the value itself. Undefined without a label, except for an array. Throws
 * `invalid` if a numeric field gets no number, or an integer field a fraction.
 */
function fieldValue(name: string, field: Property, labels: readonly string[]): Value | undefined {
  const choices = choicesOf(field)
  const values = labels.map((label) => choices.find((choice) => choice.label === label)?.value ?? label)
  if (field.type === 'array') return values.map(String)
  const [value] = values
  if (value === undefined || (field.type !== 'number' && field.type !== 'integer')) return value
  const number = Number(value)
  const isNumber = field.type === 'integer' ? Number.isInteger(number) : Number.isFinite(number)
  if (isNumber && String(value).trim() !== '') return number
  throw new ReplyError('invalid', `"${name}" must be a number, not ${JSON.stringify(value)}. Answer with digits.`)
}
