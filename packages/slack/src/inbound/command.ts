import * as z from 'zod'
import type { Read } from '../inbound.ts'
import { chatOf } from '../place.ts'
import { readText } from './event.ts'

/** https://docs.slack.dev/interactivity/implementing-slash-commands#app_command_handling */
const schema = z.object({
  command: z.string().startsWith('/'),
  text: z.string().default(''),
  user_id: z.string(),
  user_name: z.string().optional(),
  team_id: z.string().optional(),
  channel_id: z.string(),
  trigger_id: z.string(),
})

const commandLike = z.object({ command: z.string() })

/** Whether a body is a slash command, which has no `type` as the others have. */
export function isCommand(body: unknown): boolean {
  return commandLike.safeParse(body).success
}

/** Reads a slash command as a text like "/ask Why?"; one whose name `isOwn` denies is the host's. */
export function readCommand(body: unknown, isOwn: (name: string) => boolean): Read | undefined {
  const { data } = schema.safeParse(body)
  if (!data) return undefined
  const { command, text, user_id: id, user_name: name, team_id: teamId, channel_id, trigger_id } = data
  if (!isOwn(command.slice(1))) return { id: trigger_id, received: undefined }
  return {
    id: trigger_id,
    received: {
      type: 'text',
      // Slack takes no commands in threads, and shows none as a message: there is nothing to reply to.
      chat: chatOf(channel_id, undefined),
      actor: { id, name: name || id },
      text: readText(`${command} ${text}`).trim(),
      messageRef: { id: trigger_id },
      isCommand: true,
      isAddressed: true,
      teamId,
    },
  }
}
