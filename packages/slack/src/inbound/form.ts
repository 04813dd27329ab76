import type { Form } from '@reply/sink/channel'
import { jsonOf } from '@reply/sink/internal'
import * as z from 'zod'
import type { FormPlace, FormState } from '../form.ts'
import { fields } from '../form.ts'

const question = z.object({
  h: z.string(),
  q: z.string(),
  o: z.array(z.tuple([z.string()], z.string())),
  m: z.literal(1).optional(),
  c: z.literal(1).optional(),
})

const schema = z.object({ t: z.string(), l: z.string().optional(), q: z.array(question).optional() })

const metadata = z.object({
  f: z.string(),
  p: z.object({ channel: z.string(), thread: z.string().optional(), message: z.string() }),
})

/** A button's form. `form` is undefined if it was too long to be stored. */
export interface ReadForm {
  readonly token: string
  readonly form: Form | undefined
}

/** Returns undefined if `writeForm` did not write the value. */
export function readForm(value: string): ReadForm | undefined {
  const { data } = schema.safeParse(jsonOf(value))
  if (!data) return undefined
  const questions = data.q?.map(({ h, q, o, m, c }) => ({
    ...{ header: h, question: q, multiple: m === 1, custom: c === 1 },
    options: o.map(([label, description = '']) => ({ label, description })),
  }))
  return { token: data.t, form: questions && { token: data.t, label: data.l ?? '', questions } }
}

/** Reads a dialog's `private_metadata`. */
export function readMetadata(value: string): (ReadForm & { readonly place: FormPlace }) | undefined {
  const { data } = metadata.safeParse(jsonOf(value))
  const read = data && readForm(data.f)
  return read && { ...read, place: { ...data.p, thread: data.p.thread } }
}

const option = z.object({ value: z.string() })

const field = z.object({
  value: z.string().nullish(),
  selected_option: option.nullish(),
  selected_options: z.array(option).optional(),
})

/** A view's state, by block id and action id. */
export const stateSchema = z.object({ values: z.record(z.string(), z.record(z.string(), field)) })

export function toState({ values }: z.infer<typeof stateSchema>): FormState {
  return {
    picked: (index) => {
      const found = values[fields.picked(index)]?.picked
      const options = found?.selected_options ?? (found?.selected_option ? [found.selected_option] : [])
      return options.map(({ value }) => Number(value))
    },
    written: (index) => values[fields.written(index)]?.written?.value ?? '',
  }
}
