import type { PermissionRule } from '../guard-rules.ts'
import type { InputPart, PromptFile } from '../input.ts'
import type { CreateInput, SourceCommand, SourcePrompt } from '../port.ts'
import type { CommandBody, CreateBody, PromptBody } from './rest.ts'

type WirePart = NonNullable<PromptBody['parts']>[number]

/**
 * Converts a prompt to the request's body: its text, then its parts, then its files. An empty text and absent fields
 * are left out.
 */
export function toPromptBody(prompt: SourcePrompt): PromptBody {
  const { text, files = [], parts = [], agent, model, noReply, system, tools, variant, format, messageID } = prompt
  const id = prompt.textPartID === undefined ? {} : { id: prompt.textPartID }
  return {
    parts: [
      ...(text === undefined || text === '' ? [] : [{ ...id, type: 'text' as const, text }]),
      ...parts.map(toPartBody),
      ...files.map(toFileBody),
    ],
    ...(messageID !== undefined && { messageID }),
    ...(agent !== undefined && { agent }),
    ...(model && { model }),
    ...(noReply !== undefined && { noReply }),
    ...(system !== undefined && { system }),
    ...(tools && { tools: { ...tools } }),
    ...(variant !== undefined && { variant }),
    ...(format && { format: toFormatBody(format) }),
  }
}

/**
 * Converts a command to the request's body. The wire has its model as `provider/model`. Absent arguments are empty, and
 * other absent fields are left out.
 */
export function toCommandBody({ command, messageID, agent, model, variant, ...input }: SourceCommand): CommandBody {
  return {
    command,
    arguments: input.arguments ?? '',
    ...(messageID !== undefined && { messageID }),
    ...(agent !== undefined && { agent }),
    ...(model && { model: `${model.providerID}/${model.modelID}` }),
    ...(variant !== undefined && { variant }),
  }
}

/**
 * Converts a new session to the request's body: its title and its rules, if there are any. Leaves out the agent and
 * model, which come with each prompt.
 */
export function toCreateBody({ title }: CreateInput, rules: readonly PermissionRule[]): CreateBody {
  return { ...(title !== undefined && { title }), ...(rules.length > 0 && { permission: [...rules] }) }
}

/** Converts a part of a prompt. */
function toPartBody(part: InputPart): WirePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...(part.synthetic !== undefined && { synthetic: part.synthetic }) }
    case 'file':
      return toFileBody(part)
    case 'agent':
      return { type: 'agent', name: part.name }
    case 'subtask':
      return { type: 'subtask', prompt: part.prompt, description: part.description, agent: part.agent }
    default:
      return part satisfies never
  }
}

/** Converts a file to the part that attaches it. */
function toFileBody({ url, mime, filename }: PromptFile): WirePart {
  return { type: 'file', url, mime, ...(filename !== undefined && { filename }) }
}

/** Converts the format of an answer. The server chooses the number of retries if there is none. */
function toFormatBody({ schema, retryCount }: NonNullable<SourcePrompt['format']>): NonNullable<PromptBody['format']> {
  return { type: 'json_schema', schema: { ...schema }, ...(retryCount !== undefined && { retryCount }) }
}
