import { PortError } from '@reply/sink'
import { z } from 'zod'

const schema = z.object({ id: z.string() })

/** The id of what was posted. It throws where there is none: nobody knows then what became of it. */
export function idIn(posted: unknown, call: string): string {
  const { data } = schema.safeParse(posted)
  if (data) return data.id
  throw new PortError('ambiguous', `${call}: the answer names no message.`)
}
