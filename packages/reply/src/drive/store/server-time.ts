import type { MessageHead, ReplyEvent } from '../../event.ts'

/** The later of two times; undefined if both are. */
export function latest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.max(a, b)
}

/** The newest time in an event, by the server's clock. `event.at` doesn't count: it is by our clock. */
export function timeOf(event: ReplyEvent): number | undefined {
  switch (event.type) {
    case 'listening':
      return event.from
    case 'message':
      return timeOfHead(event.message)
    case 'snapshot':
      return event.messages.reduce<number | undefined>(
        (newest, { head }) => latest(newest, timeOfHead(head)),
        undefined,
      )
    default:
      return undefined
  }
}

function timeOfHead({ createdAt, completedAt }: MessageHead): number | undefined {
  return latest(createdAt, completedAt)
}
