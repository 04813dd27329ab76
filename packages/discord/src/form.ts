import type { Form } from '@reply/sink/channel'
import { escapeInvisible, type FormQuestion, oneLine } from '@reply/sink/internal'
import { dialog } from './limits.ts'
import { oneMessage } from './render.ts'

/** Prefix of this package's custom ids. The bot may have other components. */
const prefix = 'reply:'

export function idOf(token: string): string {
  return `${prefix}${token}`
}

/** The token of a dialog, and of the button that opens it later, with the message that the dialog is about. */
export function tokenAbout(token: string, messageId: string): string {
  return `${token}@${messageId}`
}

/** Splits the result of `tokenAbout`. */
export function partsOf(token: string): { readonly token: string; readonly messageId: string | undefined } {
  const [, bare = token, messageId] = /^(.*)@(\d{1,20})$/s.exec(token) ?? []
  return { token: bare, messageId }
}

/** The token in a custom id. Returns undefined if the component isn't this package's. */
export function tokenIn(customId: string): string | undefined {
  return customId.startsWith(prefix) ? customId.slice(prefix.length) : undefined
}

type Component = Readonly<Record<string, unknown>>

/** Discord's component types. https://discord.com/developers/docs/components/reference */
const kind = { select: 3, text: 4, textField: 10, label: 18 } as const

/** Label prefix of the free-text field beside a select. */
const customPrefix = '✎'

interface Plan {
  readonly question: FormQuestion
  /** The options, split into selects of the allowed size. Empty: the question gets a text field. */
  readonly selects: readonly FormQuestion['options'][]
}

/**
 * A modal for a form's questions, with a select or text field for each. Remaining room is used for free-text fields
 * beside selects, then for the full text of long questions. Questions without room are asked afterwards.
 */
export function dialogOf(form: Form): Component {
  const plans: Plan[] = []
  let room: number = dialog.components
  for (const question of form.questions) {
    const selects = chunksOf(question)
    const needed = Math.max(1, selects.length)
    if (needed > room) break
    room -= needed
    plans.push({ question, selects })
  }
  const takesWords = ({ question, selects }: Plan): boolean => question.custom && selects.length > 0
  const added = new Set(plans.flatMap((plan, at) => (takesWords(plan) ? [at] : [])).slice(0, room))
  room -= added.size
  const isLong = ({ question: { question } }: Plan): boolean => question.length > dialog.description
  const quoted = new Set(plans.flatMap((plan, at) => (isLong(plan) ? [at] : [])).slice(0, room))
  const components = plans.flatMap((plan, at) => [
    ...(quoted.has(at)
      ? [
          {
            type: kind.textField,
            content: oneMessage(escapeInvisible(plan.question.question)),
          },
        ]
      : []),
    ...fieldsOf(plan, at, { isQuoted: quoted.has(at), hasTextField: added.has(at) }),
  ])
  return { custom_id: idOf(form.token), title: oneLine(form.label, dialog.title), components }
}

function fieldsOf(
  { question, selects }: Plan,
  at: number,
  { isQuoted, hasTextField }: { readonly isQuoted: boolean; readonly hasTextField: boolean },
): readonly Component[] {
  const name = question.header || question.question
  const isSaid = isQuoted || (question.question === name && name.length <= dialog.label)
  const description = isSaid ? {} : { description: oneLine(question.question, dialog.description) }
  const isRequired = !hasTextField && selects.length === 1
  const labelled = (component: Component, label: string, more: Component = {}): Component => ({
    type: kind.label,
    label: oneLine(label, dialog.label),
    ...more,
    component,
  })
  const textField = (isOnly: boolean): Component => ({
    type: kind.text,
    custom_id: `${at}.w`,
    style: 2,
    required: isOnly,
    max_length: dialog.written,
  })
  if (selects.length === 0) return [labelled(textField(true), name, description)]
  const values = valuesOf(question)
  let before = 0
  const fields = selects.map((options, chunk) => {
    const first = before
    before += options.length
    const select = {
      type: kind.select,
      custom_id: `${at}.${chunk}`,
      required: isRequired,
      min_values: isRequired ? 1 : 0,
      max_values: question.multiple ? options.length : 1,
      options: options.map((option, index) => optionOf(option, values[first + index] ?? '', first + index + 1)),
    }
    const count = selects.length > 1 ? ` (${chunk + 1}/${selects.length})` : ''
    return labelled(select, `${oneLine(name, dialog.label - count.length)}${count}`, description)
  })
  return hasTextField ? [...fields, labelled(textField(false), `${customPrefix} ${name}`)] : fields
}

/** Splits options into selects. Returns none for too many options: typing a number is then faster. */
function chunksOf({ options }: FormQuestion): readonly FormQuestion['options'][] {
  const count = Math.ceil(options.length / dialog.options)
  if (count > dialog.components) return []
  return Array.from({ length: count }, (_, at) => options.slice(at * dialog.options, (at + 1) * dialog.options))
}

/** Select values: the labels, or numbers for labels that are too long or duplicate. The sink understands both. */
function valuesOf({ options }: FormQuestion): readonly string[] {
  const used = new Set<string>()
  return options.map(({ label }, at) => {
    const candidates = [label, `${at + 1}`, `#${at + 1}`]
    const value =
      candidates.find((one) => one.trim() !== '' && one.length <= dialog.option && !used.has(one)) ?? `${at + 1}.`
    used.add(value)
    return value
  })
}

function optionOf({ label, description }: FormQuestion['options'][number], value: string, number: number): Component {
  return {
    label: oneLine(label, dialog.option) || String(number),
    value,
    ...(description.trim() !== '' && { description: oneLine(description, dialog.option) }),
  }
}
