import { escapeInvisible } from '@reply/core'
import type { Form } from '@reply/sink/channel'
import { type FormQuestion, oneLine } from '@reply/sink/internal'
import { dialog } from './limits.ts'
import { oneMessage } from './render.ts'

/** Prefix of this package's custom ids. The bot may have other components. */
const prefix = 'reply:'

/** Returns the custom id of a component with that token. */
export function customIdOf(token: string): string {
  return `${prefix}${token}`
}

/**
 * Returns a dialog's token with the id of the message that the dialog is about. A button that opens it later has the same.
 */
export function withMessageId(token: string, messageId: string): string {
  return `${token}@${messageId}`
}

/** Returns the two parts that `withMessageId` joined. `messageId` is undefined for a bare token. */
export function splitToken(token: string): { readonly token: string; readonly messageId: string | undefined } {
  const [, bare = token, messageId] = /^(.*)@(\d{1,20})$/s.exec(token) ?? []
  return { token: bare, messageId }
}

/** Returns the token in a custom id. Undefined if the component isn't this package's. */
export function tokenIn(customId: string): string | undefined {
  return customId.startsWith(prefix) ? customId.slice(prefix.length) : undefined
}

type Component = Readonly<Record<string, unknown>>

/** Discord's component types. https://discord.com/developers/docs/components/reference */
const kind = { select: 3, text: 4, textField: 10, label: 18 } as const

/** Label prefix of the free-text field beside a select. */
const freeTextPrefix = '✎'

/** How a dialog asks one question. */
interface QuestionPlan {
  readonly question: FormQuestion
  /** The options, split into selects of the allowed size. Empty: the question gets a text field. */
  readonly selects: readonly FormQuestion['options'][]
}

/**
 * Returns a modal for a form's questions, with a select or text field for each. Remaining room is used for free-text fields
 * beside selects, then for the full text of long questions. Leaves out questions that don't fit, which the sink asks
 * afterwards.
 */
export function dialogOf(form: Form): Component {
  const plans: QuestionPlan[] = []
  let room: number = dialog.components
  for (const question of form.questions) {
    const selects = selectsOf(question)
    const needed = Math.max(1, selects.length)
    if (needed > room) break
    room -= needed
    plans.push({ question, selects })
  }
  const allowsFreeText = ({ question, selects }: QuestionPlan): boolean => question.custom && selects.length > 0
  const withTextField = new Set(plans.flatMap((plan, at) => (allowsFreeText(plan) ? [at] : [])).slice(0, room))
  room -= withTextField.size
  const isLong = ({ question: { question } }: QuestionPlan): boolean => question.length > dialog.description
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
    ...fieldsOf(plan, at, { isQuoted: quoted.has(at), hasTextField: withTextField.has(at) }),
  ])
  return { custom_id: customIdOf(form.token), title: oneLine(form.label, dialog.title), components }
}

/** Returns the labelled components of one question. Their custom ids begin with `questionIndex`, its index in the form. */
function fieldsOf(
  { question, selects }: QuestionPlan,
  questionIndex: number,
  { isQuoted, hasTextField }: { readonly isQuoted: boolean; readonly hasTextField: boolean },
): readonly Component[] {
  const name = question.header || question.question
  const isShownWhole = isQuoted || (question.question === name && name.length <= dialog.label)
  const description = isShownWhole ? {} : { description: oneLine(question.question, dialog.description) }
  const needsSelect = !hasTextField && selects.length === 1
  const labelled = (component: Component, label: string, more: Component = {}): Component => ({
    type: kind.label,
    label: oneLine(label, dialog.label),
    ...more,
    component,
  })
  const textField = (isRequired: boolean): Component => ({
    type: kind.text,
    custom_id: `${questionIndex}.w`,
    style: 2,
    required: isRequired,
    max_length: dialog.textLength,
  })
  if (selects.length === 0) return [labelled(textField(true), name, description)]
  const values = optionValues(question)
  let optionsBefore = 0
  const fields = selects.map((options, chunk) => {
    const firstOption = optionsBefore
    optionsBefore += options.length
    const select = {
      type: kind.select,
      custom_id: `${questionIndex}.${chunk}`,
      required: needsSelect,
      min_values: needsSelect ? 1 : 0,
      max_values: question.multiple ? options.length : 1,
      options: options.map((option, index) =>
        selectOption(option, values[firstOption + index] ?? '', firstOption + index + 1),
      ),
    }
    const count = selects.length > 1 ? ` (${chunk + 1}/${selects.length})` : ''
    return labelled(select, `${oneLine(name, dialog.label - count.length)}${count}`, description)
  })
  return hasTextField ? [...fields, labelled(textField(false), `${freeTextPrefix} ${name}`)] : fields
}

/** Splits options into selects. Returns none for too many options: typing a number is then faster. */
function selectsOf({ options }: FormQuestion): readonly FormQuestion['options'][] {
  const count = Math.ceil(options.length / dialog.options)
  if (count > dialog.components) return []
  return Array.from({ length: count }, (_, at) => options.slice(at * dialog.options, (at + 1) * dialog.options))
}

/**
 * Returns the value of each option: its label, or its number if the label is blank, too long or a duplicate. The sink
 * understands both.
 */
function optionValues({ options }: FormQuestion): readonly string[] {
  const used = new Set<string>()
  return options.map(({ label }, at) => {
    const candidates = [label, `${at + 1}`, `#${at + 1}`]
    const value =
      candidates.find((text) => text.trim() !== '' && text.length <= dialog.option && !used.has(text)) ?? `${at + 1}.`
    used.add(value)
    return value
  })
}

/** Returns an option of a select. Its label is the number if the option's own is blank. */
function selectOption(
  { label, description }: FormQuestion['options'][number],
  value: string,
  number: number,
): Component {
  return {
    label: oneLine(label, dialog.option) || String(number),
    value,
    ...(description.trim() !== '' && { description: oneLine(description, dialog.option) }),
  }
}
