import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { parse, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { ReplyError } from '@reply/core'
import { maxEmbedded, type SendFileOptions, sendFile, sendFileTool } from './send-file.ts'

/** The process that the program runs in. */
export interface ToolsIO {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  /** The directory that it was started in. */
  readonly directory: string
}

/** The limit without `--max-mb`: https://core.telegram.org/bots/api#sending-files has 50 MB for bots. */
const defaultMegabytes = 50

/** What the program takes. */
const options = {
  help: { type: 'boolean', short: 'h' },
  'max-mb': { type: 'string' },
  embed: { type: 'boolean' },
} as const

const help = `Usage: reply-tools [directory] [--max-mb <number>] [--embed]

Serves the tool send_file to a coding agent, over MCP on standard input and output. The agent starts it.

  directory          the project, whose files can be sent (default: where it is started)
  --max-mb <number>  the size of the largest file, in MB (default: ${defaultMegabytes}, and ${maxEmbedded / 1_000_000} at most with --embed)
  --embed            sends the content of files instead of links, for an agent whose folder is not on the computer that shows
                     its replies, for example in a container: all files of OpenCode 1, and pictures of other agents
`

/**
 * Serves the tool until the input ends. Resolves with the exit code: 0, or 2 after a sentence on standard error if the arguments are
 * wrong.
 */
export async function main(args: readonly string[], io: ToolsIO): Promise<number> {
  let rules: Omit<SendFileOptions, 'client'>
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (values.help) {
      io.stdout.write(help)
      return 0
    }
    rules = await rulesOf(positionals, { limit: values['max-mb'], embeds: values.embed === true }, io.directory)
  } catch (error) {
    io.stderr.write(`reply-tools: ${error instanceof Error ? error.message : String(error)}\n`)
    return 2
  }
  const server = createStdioServer(rules)
  const ended = new Promise<void>((end) => {
    io.stdin.once('close', end).once('end', end).on('error', end)
    // An agent that was killed reads no answers.
    io.stdout.on('error', end)
  })
  await server.connect(new StdioServerTransport(io.stdin, io.stdout))
  await ended
  await server.close()
  return 0
}

/** Returns an MCP server with the tool. */
function createStdioServer(rules: Omit<SendFileOptions, 'client'>): Server {
  const server = new Server({ name: 'reply-tools', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [sendFileTool] }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) =>
    params.name === sendFileTool.name
      ? await sendFile(params.arguments, { ...rules, client: server.getClientVersion()?.name })
      : { content: [{ type: 'text', text: `There is no tool named ${params.name}.` }], isError: true },
  )
  return server
}

/** Resolves with what the arguments allow. Rejects with `invalid` for wrong ones. */
async function rulesOf(
  given: readonly string[],
  { limit, embeds }: { readonly limit: string | undefined; readonly embeds: boolean },
  startedIn: string,
): Promise<Omit<SendFileOptions, 'client'>> {
  const [directory] = given
  if (given.length > 1) throw new ReplyError('invalid', 'Give one directory at most.')
  const megabytes = limit === undefined ? defaultMegabytes : Number(limit)
  if (!(megabytes > 0))
    throw new ReplyError('invalid', `--max-mb must be a number above 0, not ${JSON.stringify(limit)}.`)
  const project = await folderOf(resolve(startedIn, directory ?? '.'))
  // Some programs start MCP servers in these folders. They hold much that must not be sent.
  const tooWide = [parse(project).root, await realpath(homedir()).catch(() => '')]
  if (directory === undefined && tooWide.includes(project))
    throw new ReplyError(
      'invalid',
      `It was started in ${project}, which is too wide. Give the project's directory as an argument.`,
    )
  const maxBytes = megabytes * 1_000_000
  return { project, embeds, maxBytes: embeds ? Math.min(maxBytes, maxEmbedded) : maxBytes }
}

/** Resolves with the real path of a directory. Rejects with `invalid` if there is none. */
async function folderOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined || !(await stat(real)).isDirectory())
    throw new ReplyError('invalid', `There is no directory ${path}. Give the project's directory.`)
  return real
}
