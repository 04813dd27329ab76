import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { extname } from 'node:path'
import { type Client, connect, type OnError, ReplyError } from '@reply/core'
import { type AcpClient, type AcpClientOptions, clientOf } from './client.ts'
import { isFields } from './decode/call.ts'
import { createMirror } from './opencode-mirror.ts'
import { type AcpOptions, toSettings } from './options.ts'
import { type AcpSource, createAcpSource } from './source.ts'
import { startTransport, type Transport } from './transport.ts'

/** The options of `opencodeAcp`: those of `acp`, but `command` has a default. */
export interface OpencodeAcpOptions extends Omit<AcpClientOptions, 'command'> {
  /** OpenCode's program. Default `opencode`. */
  readonly command?: string | undefined
  /** Added after `acp` and the port. Default: none. */
  readonly args?: readonly string[] | undefined
}

/**
 * Starts `opencode acp` of OpenCode 1, and adds the questions and sub-agents that its ACP leaves out. Both come over
 * OpenCode's own server, which listens on a free local port with a generated password. A plugin hides the password from
 * the shells that OpenCode starts.
 */
export function opencodeAcp(options: OpencodeAcpOptions = {}): AcpClient {
  const all = { ...options, command: options.command ?? 'opencode' }
  return clientOf(opencodeAcpSource(all), all)
}

/**
 * Returns the source of `opencodeAcp`, for `connectSource`: OpenCode over ACP, with the questions and sub-agents that ACP
 * leaves out copied from its own server.
 */
export function opencodeAcpSource(
  options: Omit<AcpOptions, 'command'> & { readonly command?: string | undefined },
): AcpSource {
  const { args = [], command = 'opencode', onError, ...rest } = options
  let server: Client | undefined
  const settings = toSettings({ ...rest, command, onError })
  return createAcpSource(
    settings,
    open,
    createMirror(() => server, settings.clock, onError),
  )

  /**
   * Starts OpenCode with a free port, a new password and the plugin, and connects to its server. That connection ends with
   * OpenCode.
   */
  async function open(): Promise<Transport> {
    const port = await freePort()
    const password = randomUUID()
    const env = {
      ...options.env,
      // By default OpenCode hides the tool from ACP clients, because they can't answer.
      OPENCODE_ENABLE_QUESTION_TOOL: '1',
      OPENCODE_SERVER_USERNAME: username,
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_CONFIG_CONTENT: addPlugin(contentIn(options.env), hidePassword),
    }
    const { cwd } = settings
    const own = ['acp', '--port', String(port), '--hostname', '127.0.0.1', ...args]
    const transport = await startTransport({ ...settings, args: own, env })
    const url = `http://127.0.0.1:${port}`
    const opened = connectWhenUp(url, password, cwd, onError)
    server = opened
    void transport.ended.then(() => opened.close())
    return transport
  }
}

const username = 'reply'

/** The plugin that hides the password from shells. It has the same extension as this file, `.ts` or `.js`. */
const hidePassword = new URL(`./hide-password${extname(import.meta.url)}`, import.meta.url).href

/** Returns the settings in OpenCode's variable, of the options or of your own environment. Undefined if it isn't set. */
function contentIn(env: AcpOptions['env'] = {}): string | undefined {
  const { OPENCODE_CONFIG_CONTENT: content } = { ...process.env, ...env }
  return content
}

/**
 * Adds a plugin to the settings that OpenCode reads from `OPENCODE_CONFIG_CONTENT`. Throws `invalid` if they are not
 * JSON, although OpenCode itself accepts comments.
 */
export function addPlugin(content: string | undefined, plugin: string): string {
  const settings = parsed(content || '{}')
  if (isFields(settings)) {
    const { plugin: plugins = [] } = settings
    if (Array.isArray(plugins)) return JSON.stringify({ ...settings, plugin: [...plugins, plugin] })
  }
  const cure = 'Write it as a JSON object without comments. `plugin`, if present, must be a list.'
  throw new ReplyError('invalid', `OPENCODE_CONFIG_CONTENT can't be read, so OpenCode was not started. ${cure}`)
}

/** Parses JSON. Undefined if the text isn't JSON. */
function parsed(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}

/**
 * Connects to OpenCode's server, and retries until it listens. Errors before that are expected and not reported, nor are
 * later ones of a server that doesn't answer.
 */
function connectWhenUp(url: string, password: string, directory: string, onError: OnError | undefined): Client {
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

/** Returns a port of this computer that was free just now. 0 if the system tells none. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
