import type * as z from 'zod/mini'
import type { PermissionAsk, QuestionAsk } from '../../../ask.ts'
import type { permissionSchema, WireForm } from './schema.ts'

/** When and for which directory an ask was read. */
export interface AskOrigin {
  /** In ms since the epoch. */
  readonly at: number
  readonly directory: string | undefined
}

/**
 * Converts a permission. Without a message, its title is its action with its resources. It was asked when it was read.
 * A single literal, because spreading takes longer than parsing the whole frame.
 */
export function toPermission(wire: z.infer<typeof permissionSchema>, { at, directory }: AskOrigin): PermissionAsk {
  const { id, sessionID, source, action, resources, save = [], metadata = {}, message } = wire
  return {
    requestID: id,
    sessionID,
    directory,
    path: [sessionID],
    callID: source?.id,
    messageID: source?.messageID,
    status: 'pending',
    askedAt: at,
    type: 'permission',
    permission: action,
    patterns: resources,
    always: save,
    title: message ?? (resources.length === 0 ? action : `${action}: ${resources.join(', ')}`),
    metadata,
  }
}

/**
 * Converts a form's fields to questions. A field without a title has its key, and one without a description its title.
 * A boolean has the options Yes and No. A field without options that is not a boolean takes any text, and so does a
 * `custom` one.
 */
export function toQuestion(wire: WireForm, { at, directory }: AskOrigin): QuestionAsk {
  const { id, sessionID, metadata } = wire
  return {
    requestID: id,
    sessionID,
    directory,
    path: [sessionID],
    callID: metadata?.tool?.id,
    messageID: metadata?.tool?.messageID,
    status: 'pending',
    askedAt: at,
    type: 'question',
    questions: wire.fields.map(({ key, title = key, description = title, type, options, custom }) => ({
      header: title,
      question: description,
      options: (options ?? (type === 'boolean' ? yesOrNo : [])).map((option) => ({
        label: option.label ?? String(option.value),
        description: option.description ?? '',
      })),
      multiple: type === 'multiselect',
      custom: custom === true || (options === undefined && type !== 'boolean'),
    })),
  }
}

/** The options of a boolean field. */
const yesOrNo = [
  { value: true, label: 'Yes', description: '' },
  { value: false, label: 'No', description: '' },
]

/**
 * Converts one list of answers per field to the form's answer. Each value has its field's type. A multiselect gets all
 * answers, and any other field the first. Leaves out fields without an answer.
 */
export function toFormAnswer(
  form: WireForm,
  answers: readonly (readonly string[])[],
): Readonly<Record<string, unknown>> {
  const pairs = form.fields.flatMap((field, at) => {
    const given = (answers[at] ?? []).map((answer) => toFieldValue(field, answer))
    if (given.length === 0) return []
    return [[field.key, field.type === 'multiselect' ? given : given[0]] as const]
  })
  return Object.fromEntries(pairs)
}

/** Converts a form's answer to lists of labels, in the order of the fields. Empty for a field without a value. */
export function toAnswers(form: WireForm, answer: Readonly<Record<string, unknown>>): readonly (readonly string[])[] {
  return form.fields.map((field) => {
    const value = answer[field.key]
    const values = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]
    return values.map((one) => toLabel(field, one))
  })
}

type Field = WireForm['fields'][number]

/**
 * Converts an answer to the value of the option with this label, or else to a boolean or a number, by the field's type.
 * Any other text is kept, also for a number that can't be read.
 */
function toFieldValue({ type, options }: Field, answer: string): unknown {
  const chosen = (options ?? []).find((option) => (option.label ?? String(option.value)) === answer)
  if (chosen) return chosen.value
  if (type === 'boolean') return answer === 'Yes' || answer === 'true'
  if (type !== 'number' && type !== 'integer') return answer
  const number = Number(answer)
  return Number.isNaN(number) ? answer : number
}

/** Returns the label of a field's value: its option's, Yes or No, or the value as text. */
function toLabel({ type, options }: Field, value: unknown): string {
  const chosen = (options ?? []).find((option) => option.value === value)
  if (chosen) return chosen.label ?? String(value)
  if (type === 'boolean') return value === true ? 'Yes' : 'No'
  return String(value)
}
