import * as z from 'zod'

const info = z.object({
  file: z.object({ url_private: z.string().optional(), url_private_download: z.string().optional() }),
})

/** The address of a file in a response of `files.info`. */
export function urlOf(response: unknown): string | undefined {
  const { file } = info.safeParse(response).data ?? {}
  return file?.url_private_download ?? file?.url_private
}

const named = z.object({ user: z.string() })

/** The bot's name in a response of `auth.test`. */
export function accountOf(response: unknown): string {
  const { data } = named.safeParse(response)
  return `@${data?.user ?? 'unknown'}`
}
