import type { Client, CommandInfo, PromptFile } from '@reply/core'
import type { InboundFile } from '@reply/sink'
import type { BridgeConnection } from '@reply/sink/channel'
import { wordsOf } from '../error.ts'

/** A file that could not be read: `name` is the file's. */
export class FileFailure extends Error {
  readonly file: string

  constructor(file: string, cause: unknown) {
    super(wordsOf(cause), { cause })
    this.name = 'FileFailure'
    this.file = file
  }
}

/** Reads what a person sent with a prompt. Rejects with a `FileFailure`. */
export async function readFiles(
  connection: Pick<BridgeConnection, 'download'>,
  files: readonly InboundFile[],
  maxBytes: number,
): Promise<readonly PromptFile[]> {
  return await Promise.all(
    files.map(async (file) => {
      try {
        const bytes = await connection.download(file, { maxBytes })
        const url = `data:${file.mime};base64,${Buffer.from(bytes).toString('base64')}`
        return { url, mime: file.mime, filename: file.name }
      } catch (cause) {
        throw new FileFailure(file.name, cause)
      }
    }),
  )
}

/** A slash command of the agent: its name and what follows. */
export interface AgentCommand {
  readonly name: string
  readonly rest: string
}

export function agentCommandOf(text: string): AgentCommand | undefined {
  const [, name, rest = ''] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name, rest }
}

/** The agent's command of that name. Undefined if there is none, or the server doesn't list any: it gets the words as they are. */
export async function agentCommand(opencode: Client, name: string): Promise<CommandInfo | undefined> {
  try {
    return (await opencode.commands()).find((command) => command.name === name)
  } catch {
    return undefined
  }
}
