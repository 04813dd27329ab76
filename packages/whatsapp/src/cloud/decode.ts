import * as z from 'zod'

const posted = z.object({ messages: z.array(z.object({ id: z.string() })).min(1) })
const done = z.object({ success: z.literal(true) })
const media = z.object({ id: z.string() })
const mediaPlace = z.object({ url: z.string(), file_size: z.number().optional() })
const number = z.object({ display_phone_number: z.string() })
const refusal = z.object({
  error: z.object({
    message: z.string().catch(''),
    code: z.number(),
    error_data: z
      .object({ details: z.string().catch('') })
      .optional()
      .catch(undefined),
  }),
})

export interface CloudRefusal {
  readonly message: string
  readonly code: number
  readonly details: string | undefined
}

/** A posted message's `wamid`; without an id for calls that only succeed. Returns undefined for any other response. */
export function toPosted(value: unknown): { readonly id: string | undefined } | undefined {
  const message = posted.safeParse(value).data
  if (message) return { id: message.messages[0]?.id }
  return done.safeParse(value).success ? { id: undefined } : undefined
}

export function toMediaId(value: unknown): string | undefined {
  return media.safeParse(value).data?.id
}

/** Where a file is. https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media */
export function toMediaPlace(value: unknown): z.infer<typeof mediaPlace> | undefined {
  return mediaPlace.safeParse(value).data
}

/** The number as people see it. */
export function toNumber(value: unknown): string | undefined {
  return number.safeParse(value).data?.display_phone_number
}

/** Returns undefined if the body isn't a Meta error. */
export function toRefusal(value: unknown): CloudRefusal | undefined {
  const { data } = refusal.safeParse(value)
  return data && { message: data.error.message, code: data.error.code, details: data.error.error_data?.details }
}
