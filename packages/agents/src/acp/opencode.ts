import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { extname } from 'node:path'
import { type Client, connect, type OnError } from '@reply/core'
import { type AcpClient, type AcpClientOptions, clientOf } from './client.ts'
import { addPlugin } from './decode/config.ts'
import { createMirror } from './mirror.ts'
import type { AcpOptions } from './options.ts'
import { type Settings, toSettings } from './running.ts'
import { type AcpSource, createAcpSource } from './source.ts'
import { startTransport, type Transport } from './transport.ts'

/** The options of `opencodeAcp`: those of `acp` without a command, which has a default. */
export interface OpencodeAcpOptions extends Omit<AcpClientOptions, 'command'> {
  /** OpenCode's program. Default `opencode`. */
  readonly command?: string | undefined
  /** Added after `acp` and the port. Default: none. */
  readonly args?: readonly string[] | undefined
}

/**
 * `opencode acp` of OpenCode 1, with what its ACP leaves out: questions, and sub-agents with their texts, calls and
 * permissions. They come and are answered over OpenCode's own server, which listens on a free port of this machine with
 * a password made up for it. A plugin of this package keeps that from the shells that OpenCode starts.
 */
export function opencodeAcp(options: OpencodeAcpOptions = {}): AcpClient {
  const all = { ...options, command: options.command ?? 'opencode' }
  return clientOf(opencodeAcpSource(all), all)
}

/** The source of `opencodeAcp`, for `connectSource`. */
export function opencodeAcpSource(
  options: Omit<AcpOptions, 'command'> & { readonly command?: string | undefined },
): AcpSource {
  const { args = [], command = 'opencode', onError, ...rest } = options
  let server: Client | undefined
  const settings: Settings = { ...toSettings({ ...rest, command, onError }), open }
  const mirror = createMirror({ server: () => server, clock: settings.clock, onError })
  return createAcpSource(settings, mirror).source

  async function open(): Promise<Transport> {
    const port = await freePort()
    const password = randomUUID()
    const env = {
      ...options.env,
      // Without it OpenCode hides the tool from ACP clients, which could not answer.
      OPENCODE_ENABLE_QUESTION_TOOL: '1',
      OPENCODE_SERVER_USERNAME: username,
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_CONFIG_CONTENT: addPlugin(contentIn(options.env), hidePassword),
    }
    const { cwd } = settings
    const own = ['acp', '--port', String(port), '--hostname', '127.0.0.1', ...args]
    const transport = await startTransport({ ...settings, args: own, env })
    const url = `http://127.0.0.1:${port}`
    const opened = connectWhenUp({ url, password, directory: cwd, onError })
    server = opened
    void transport.ended.then(() => opened.close())
    return transport
  }
}

const username = 'reply'

/** The plugin that hides the password from shells: beside this file, with its ending. */
const hidePassword = new URL(`./hide-password${extname(import.meta.url)}`, import.meta.url).href

function contentIn(env: AcpOptions['env'] = {}): string | undefined {
  const { OPENCODE_CONFIG_CONTENT: content } = { ...process.env, ...env }
  return content
}

/** Retries until the server listens; failures before that are expected. */
function connectWhenUp({
  url,
  password,
  directory,
  onError,
}: {
  url: string
  password: string
  directory: string
  onError: OnError | undefined
}): Client {
  let wasLive = false
  return connect({
    url,
    username,
    password,
    directory,
    backOff: { minMs: 100, maxMs: 1000 },
    onConnection: (connection) => {
      wasLive ||= connection === 'live'
    },
    onError: (error) => {
      if (wasLive && error.type !== 'unreachable') onError?.(error)
    },
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
