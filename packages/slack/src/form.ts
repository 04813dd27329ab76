import type { Form, FormQuestion, Words } from '@reply/sink'
import type { SlackFields } from './api.ts'
import { fieldLength, labelLength, metadataLength, mostBoxes, mostOptions, titleLength, valueLength } from './limits.ts'
import { plainLabel, plainText } from './render.ts'

/**
 * A form as its button carries it, so that it survives a restart. What is too long goes without descriptions; if that does not
 * do, only with its token, and the questions are remembered by the process.
 */
export function writeForm(form: Form): string {
  const { token, label, questions } = form
  const bare = questions.map((one) => ({ ...one, options: one.options.map((o) => ({ ...o, description: '' })) }))
  const ways = [form, { token, label, questions: bare }].map((one) => JSON.stringify(compact(one)))
  return ways.find((way) => way.length <= valueLength) ?? JSON.stringify({ t: token })
}

function compact({ token, label, questions }: Form): object {
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

/** Where a form was opened: its dialog knows nothing of that by itself. */
export interface FormPlace {
  readonly channel: string
  readonly thread: string | undefined
  readonly message: string
}

/** The dialog that asks all of a form. Its metadata say which form it is and where it was opened. */
export function modalOf(
  form: Form,
  { place, words }: { readonly place: FormPlace; readonly words: Words },
): SlackFields {
  return {
    type: 'modal',
    callback_id: 'reply.form',
    title: plainLabel(form.label, titleLength),
    submit: plainLabel(words.pickDone, titleLength),
    private_metadata: metadataOf(form, place),
    blocks: form.questions.flatMap((question, index) => fieldsOf(question, { index, words })),
  }
}

/** Written within writing, it may grow too long: then the process has to remember it. */
function metadataOf(form: Form, place: FormPlace): string {
  const whole = JSON.stringify({ f: writeForm(form), p: place })
  if (whole.length <= metadataLength) return whole
  return JSON.stringify({ f: JSON.stringify({ t: form.token }), p: place })
}

/** The ids of the fields of a question. */
export const fields = {
  picked: (index: number): string => `q${index}.picked`,
  written: (index: number): string => `q${index}.written`,
} as const

function fieldsOf(
  question: FormQuestion,
  { index, words }: { readonly index: number; readonly words: Words },
): readonly SlackFields[] {
  const { custom, options } = question
  const name = [question.header, question.question].filter((one, at, all) => one !== '' && all.indexOf(one) === at)
  const label = plainLabel(name.join(': ') || '…', fieldLength)
  const isFree = options.length === 0
  const picking = { type: 'input', block_id: fields.picked(index), label, optional: custom, element: picker(question) }
  const writing = {
    type: 'input',
    block_id: fields.written(index),
    label: isFree ? label : plainText(words.other),
    optional: !isFree,
    element: { type: 'plain_text_input', action_id: 'written', multiline: isFree },
  }
  return [...(isFree ? [] : [picking]), ...(custom || isFree ? [writing] : [])]
}

/** What one sees at a glance, or a list where there is more. What is beyond a hundred can be answered in words. */
function picker({ options, multiple }: FormQuestion): SlackFields {
  const isShort = options.length <= mostBoxes
  const type = multiple ? (isShort ? 'checkboxes' : 'multi_static_select') : isShort ? 'radio_buttons' : 'static_select'
  const choices = options.slice(0, mostOptions).map(({ label, description }, index) => ({
    text: plainLabel(label || '…', labelLength),
    value: String(index),
    ...(description !== '' && { description: plainLabel(description, labelLength) }),
  }))
  return { type, action_id: 'picked', options: choices }
}

/** What was filled in: which options, by their place, and which words. */
export interface FormState {
  picked(index: number): readonly number[]
  written(index: number): string
}

/** For each question what was picked or written. Own words go before the one option that can be picked. */
export function valuesOf({ questions }: Form, state: FormState): readonly (readonly string[])[] {
  return questions.map(({ options, multiple }, index) => {
    const written = state.written(index).trim()
    const picked = state.picked(index).flatMap((at) => options[at]?.label ?? [])
    if (written === '') return picked
    return multiple ? [...picked, written] : [written]
  })
}
