import type { Texts } from '@reply/sink'
import type { Form } from '@reply/sink/channel'
import type { FormQuestion } from '@reply/sink/internal'
import type { SlackFields } from './api.ts'
import { fieldLength, labelLength, metadataLength, mostBoxes, mostOptions, titleLength, valueLength } from './limits.ts'
import { plainLabel, plainText } from './render.ts'

/** Id prefixes of this package's controls. The app may have others. */
export const ids = { button: 'reply.button', select: 'reply.select', form: 'reply.form' } as const

/**
 * Encodes a form for its button, so that it survives a restart. A form that is too long loses its descriptions, then
 * everything but its token, by which the host knows it.
 */
export function encodeForm(form: Form): string {
  const { token, label, questions } = form
  const bare = questions.map((question) => ({
    ...question,
    options: question.options.map((option) => ({ ...option, description: '' })),
  }))
  const encodings = [form, { token, label, questions: bare }].map((each) => JSON.stringify(compactForm(each)))
  return encodings.find((encoding) => encoding.length <= valueLength) ?? JSON.stringify({ t: token })
}

/** Returns the form in few characters, for a button: with one-letter keys, without empty descriptions and false flags. */
function compactForm({ token, label, questions }: Form): object {
  return {
    t: token,
    l: label,
    q: questions.map(({ header, question, options, multiple, custom }) => ({
      h: header,
      q: question,
      o: options.map((option) => (option.description === '' ? [option.label] : [option.label, option.description])),
      ...(multiple && { m: 1 }),
      ...(custom && { c: 1 }),
    })),
  }
}

/** Where a form was opened. Slack doesn't send it with the dialog's submission. */
export interface FormPlace {
  readonly channel: string
  readonly thread: string | undefined
  readonly message: string
}

/** Returns a modal with all questions of a form. Its metadata holds the form and where it was opened. */
export function modalOf(
  form: Form,
  { place, texts }: { readonly place: FormPlace; readonly texts: Texts },
): SlackFields {
  return {
    type: 'modal',
    callback_id: 'reply.form',
    title: plainLabel(form.label, titleLength),
    submit: plainLabel(texts.pickDone, titleLength),
    private_metadata: encodeMetadata(form, place),
    blocks: form.questions.flatMap((question, index) => questionFields(question, { index, texts })),
  }
}

/** Encodes the form and its place. JSON inside JSON grows by its escapes. If it gets too long, only the token is sent. */
function encodeMetadata(form: Form, place: FormPlace): string {
  const whole = JSON.stringify({ f: encodeForm(form), p: place })
  if (whole.length <= metadataLength) return whole
  return JSON.stringify({ f: JSON.stringify({ t: form.token }), p: place })
}

/** Block ids of a question's fields. */
export const fields = {
  picked: (index: number): string => `q${index}.picked`,
  written: (index: number): string => `q${index}.written`,
} as const

/** Returns a dialog's inputs for a question: a picker if it has options, and a text field if it has none or takes free text. */
function questionFields(
  question: FormQuestion,
  { index, texts }: { readonly index: number; readonly texts: Texts },
): readonly SlackFields[] {
  const { custom, options } = question
  const name = [question.header, question.question].filter((text, at, all) => text !== '' && all.indexOf(text) === at)
  const label = plainLabel(name.join(': '), fieldLength)
  const isFree = options.length === 0
  const picking = { type: 'input', block_id: fields.picked(index), label, optional: custom, element: picker(question) }
  const writing = {
    type: 'input',
    block_id: fields.written(index),
    label: isFree ? label : plainText(texts.other),
    optional: !isFree,
    element: { type: 'plain_text_input', action_id: 'written', multiline: isFree },
  }
  return [...(isFree ? [] : [picking]), ...(custom || isFree ? [writing] : [])]
}

/** Returns boxes for up to `mostBoxes` options, or else a select. Options past the 100th can only be written as text. */
function picker({ options, multiple }: FormQuestion): SlackFields {
  const isShort = options.length <= mostBoxes
  const type = multiple ? (isShort ? 'checkboxes' : 'multi_static_select') : isShort ? 'radio_buttons' : 'static_select'
  const choices = options.slice(0, mostOptions).map(({ label, description }, index) => ({
    text: plainLabel(label, labelLength),
    value: String(index),
    ...(description.trim() !== '' && { description: plainLabel(description, labelLength) }),
  }))
  return { type, action_id: 'picked', options: choices }
}

/** The values of a submission, by question: indexes of the picked options, and the written text. */
export interface FormState {
  picked(index: number): readonly number[]
  written(index: number): string
}

/** Returns the answers to each question. With a single choice, written text replaces the picked option. */
export function answersOf({ questions }: Form, state: FormState): readonly (readonly string[])[] {
  return questions.map(({ options, multiple }, index) => {
    const written = state.written(index).trim()
    const picked = state.picked(index).flatMap((at) => options[at]?.label ?? [])
    if (written === '') return picked
    return multiple ? [...picked, written] : [written]
  })
}
