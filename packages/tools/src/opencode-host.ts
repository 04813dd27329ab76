import { randomBytes } from 'node:crypto'
import { type OnError, type PromptInput, ReplyError } from '@reply/core'
import { serverOf, toAddress } from '@reply/core/internal'
import type { OfferedTools, ToolHost, Tools } from '@reply/core/thoughts'
import { serveTools } from './serve-tools.ts'

/** The options of `openCodeHost`. */
export interface OpenCodeHostOptions {
  /**
   * The server that gets the tools. It must run on this machine. Default: the address and the credentials of the
   * connection that `createAgent` got from `connect`, or the defaults of `connect` for any other connection.
   */
  readonly url?: string | undefined
  /** The username for `url`. Default: `opencode`. */
  readonly username?: string | undefined
  /** The password for `url`. Default: none. */
  readonly password?: string | undefined
  /** The directory of the sessions that get tools. Default: the connection's, or else the server's own. */
  readonly directory?: string | undefined
  /** Receives errors of tools. Default: ignored. */
  readonly onError?: OnError | undefined
}

/** How long the server may take to answer a call, in ms. */
const deadlineMs = 30_000

/**
 * Gives tools to an OpenCode server, version 1 or 2. Registers an MCP server for each run, and removes it when the run
 * has settled. OpenCode has MCP servers per directory, so during the run other sessions of that directory see the tools
 * too. Their names begin with a random prefix. Throws `invalid` for an invalid `url`. `offer` rejects as `serveTools`
 * does, and if the server can't be reached, refuses, or can't connect to the tools.
 */
export function openCodeHost(options: OpenCodeHostOptions = {}): ToolHost {
  const address = options.url === undefined ? undefined : toAddress(options)
  return {
    offer: async (tools, input, client) => {
      const own = serverOf(client)
      const directory = options.directory ?? own?.directory
      return await offerTools(tools, input, {
        ...(address ?? own ?? toAddress(options)),
        directory,
        onError: options.onError,
      })
    },
  }
}

/** The server that gets the tools. */
interface OpenCodeTarget {
  readonly url: string
  readonly authorization?: string | undefined
  readonly directory: string | undefined
  readonly onError: OnError | undefined
}

/**
 * Serves the tools, and registers them under a random name. Resolves with the prompt unchanged. Rejects, and serves
 * nothing any more, if OpenCode can't be reached or can't connect to the tools.
 */
async function offerTools(
  tools: Tools,
  input: PromptInput,
  { url, authorization, directory, onError }: OpenCodeTarget,
): Promise<OfferedTools> {
  const served = await serveTools(tools, { onError })
  const name = `reply_${randomBytes(4).toString('hex')}`
  let version2: boolean | undefined
  try {
    version2 = await isVersion2()
    const config = { type: 'remote', url: served.url, headers: served.headers, oauth: false }
    await (version2 ? registerOnVersion2(name, config) : registerOnVersion1(name, config))
    return { input, close: unregisterAndClose }
  } catch (error) {
    await unregisterAndClose()
    throw error
  }

  /**
   * Removes the tools from OpenCode, if it may have them, and stops serving. Ignores that OpenCode can't be reached.
   */
  async function unregisterAndClose(): Promise<void> {
    if (version2 !== undefined) await unregister(name, version2).catch(() => {})
    await served.close()
  }

  /** Removes the MCP server, or disconnects it on version 1, which can't forget it. Rejects as `request` does. */
  async function unregister(name: string, version2: boolean): Promise<void> {
    if (version2) await request('DELETE', `/api/mcp/${name}`, version2)
    else await request('POST', `/mcp/${name}/disconnect`, version2)
  }

  /** Resolves with whether the server is OpenCode 2. False if it doesn't answer. */
  async function isVersion2(): Promise<boolean> {
    const health = await request('GET', '/api/health', true).catch(() => undefined)
    return typeof health === 'object' && health !== null && 'pid' in health
  }

  /** Adds the MCP server. Rejects with `refused` unless OpenCode connected to the tools, and as `request` does. */
  async function registerOnVersion1(name: string, config: object): Promise<void> {
    const statuses = await request('POST', '/mcp', false, { name, config })
    requireConnected(statusIn(statuses, name))
  }

  /** Adds the MCP server. Rejects with `refused` unless OpenCode connected to the tools, and as `request` does. */
  async function registerOnVersion2(name: string, config: object): Promise<void> {
    // In code mode the model would call the tools from a script.
    await request('PUT', `/api/mcp/${name}`, true, { config: { ...config, codemode: false } })
    const listed = await request('GET', '/api/mcp', true)
    const servers = typeof listed === 'object' && listed !== null && 'data' in listed ? listed.data : []
    const own = Array.isArray(servers) ? servers.find((server) => server?.name === name) : undefined
    requireConnected(own?.status)
  }

  /**
   * Resolves with the JSON of the response, or undefined if it is empty. Rejects with `unreachable` if the server
   * doesn't answer within 30 s, with `unauthorized` or `refused` for an error, and with `not-opencode` if the response
   * isn't JSON.
   */
  async function request(method: string, path: string, version2: boolean, body?: object): Promise<unknown> {
    const query = new URLSearchParams(
      directory === undefined ? {} : { [version2 ? 'location[directory]' : 'directory']: directory },
    )
    const failUnreachable = (cause: unknown): never => {
      throw new ReplyError('unreachable', `No server answers at ${url}. Start one with "opencode serve".`, { cause })
    }
    const response = await fetch(`${url}${path}?${query}`, {
      method,
      signal: AbortSignal.timeout(deadlineMs),
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(failUnreachable)
    const text = await response.text().catch(failUnreachable)
    if (response.status === 401 || response.status === 403)
      throw new ReplyError('unauthorized', `${url} rejected the credentials (${response.status}). Set its password.`)
    if (!response.ok)
      throw new ReplyError('refused', `${url} refused ${method} ${path} (${response.status}): ${text.slice(0, 300)}`)
    try {
      return text === '' ? undefined : JSON.parse(text)
    } catch (cause) {
      throw new ReplyError('not-opencode', `${url} answered ${method} ${path} without JSON. Check the address.`, {
        cause,
      })
    }
  }
}

/** The status of this MCP server. Undefined if the response doesn't have it. */
function statusIn(statuses: unknown, name: string): unknown {
  return typeof statuses === 'object' && statuses !== null ? new Map(Object.entries(statuses)).get(name) : undefined
}

/** Throws `refused`, with OpenCode's reason if it has one, unless the status is "connected". */
function requireConnected(status: unknown): void {
  const state = typeof status === 'object' && status !== null && 'status' in status ? status.status : 'unknown'
  if (state === 'connected') return
  const reason = typeof status === 'object' && status !== null && 'error' in status ? `: ${String(status.error)}` : ''
  throw new ReplyError('refused', `OpenCode could not connect to the tools (${String(state)})${reason}`)
}
