import { ReplyError } from '../../error.ts'
import type { Model } from '../../reply.ts'
import type { CommandBody, CreateBody, PromptBody } from '../transport/rest.ts'

/** Where a prompt or command runs, and who answers. */
export interface SessionInput {
  /** An existing root session. Default: a new one. */
  readonly sessionID?: string | undefined
  /** Title of a new session. Default: the server generates one. */
  readonly title?: string | undefined
  /** The agent that answers, such as `plan`. Default: the server's. */
  readonly agent?: string | undefined
  /** The model that answers. Default: the server's, for the agent and the session. */
  readonly model?: Model | undefined
}

/** A prompt. It needs a text that isn't blank, a part or a file, else `prompt` throws `invalid`. */
export interface PromptInput extends SessionInput {
  /** What to ask, as Markdown. */
  readonly text?: string | undefined
  /** Parts in OpenCode's own format, after the text. */
  readonly parts?: NonNullable<PromptBody['parts']> | undefined
  /** Files to attach, after the text and the parts. */
  readonly files?: readonly PromptFile[] | undefined
  /** Only stores the message; nothing runs, the reply settles at once. */
  readonly noReply?: boolean | undefined
  /** Added to the system prompt for this run. */
  readonly system?: string | undefined
}

/** A file for a prompt. */
export interface PromptFile {
  /** `file://`, `data:` or `http(s)://`. */
  readonly url: string
  /** Its MIME type: `text/plain`, `image/png`, … */
  readonly mime: string
  /** Its name for the model and for people. */
  readonly filename?: string | undefined
}

/** A slash command of the server. */
export interface CommandInput extends SessionInput {
  /** The command's name without the slash. */
  readonly command: string
  /** What follows the command's name. Default: nothing. */
  readonly arguments?: string | undefined
}

/** Throws `invalid` for an empty prompt. */
export function toPromptBody(input: PromptInput): PromptBody {
  const { text, files = [], parts = [], agent, model, noReply, system } = input
  if ((text === undefined || text.trim() === '') && files.length === 0 && parts.length === 0) {
    throw new ReplyError('invalid', 'The prompt is empty; give it text, parts or files.')
  }
  return {
    parts: [
      ...(text === undefined || text === '' ? [] : [{ type: 'text' as const, text }]),
      ...parts,
      ...files.map(({ url, mime, filename }) => ({
        type: 'file' as const,
        url,
        mime,
        ...(filename !== undefined && { filename }),
      })),
    ],
    ...(agent !== undefined && { agent }),
    ...(model && { model }),
    ...(noReply !== undefined && { noReply }),
    ...(system !== undefined && { system }),
  }
}

/** Throws `invalid` for a command without a name. */
export function toCommandBody(input: CommandInput): CommandBody {
  const { agent, model } = input
  const command = input.command.replace(/^\//, '')
  if (command === '') throw new ReplyError('invalid', 'The command has no name; give one, such as "init".')
  return {
    command,
    arguments: input.arguments ?? '',
    ...(agent !== undefined && { agent }),
    ...(model && { model: `${model.providerID}/${model.modelID}` }),
  }
}

export function toCreateBody(input: SessionInput): CreateBody {
  return { ...(input.title !== undefined && { title: input.title }) }
}
