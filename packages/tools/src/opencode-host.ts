import { randomBytes } from 'node:crypto'
import { type OnError, type PromptInput, ReplyError } from '@reply/core'
import { serverOf, toAddress } from '@reply/core/internal'
import type { OfferedTools, ToolHost, Tools } from '@reply/core/thoughts'
import { serveTools } from './serve-tools.ts'

/** The server that is told of the tools, if it is not that of the agent's connection, and the project's directory. */
export interface OpenCodeHostOptions {
  /**
   * The server's address. It must run on this machine. Default: the address and the credentials of the connection that
   * `createAgent` got from `connect`; for any other connection the defaults of `connect`.
   */
  readonly url?: string | undefined
  /** With a `url`. Default: `opencode`. */
  readonly username?: string | undefined
  /** With a `url`. Default: none. */
  readonly password?: string | undefined
  /** The directory of the sessions that get tools. Default: the connection's, else the server's own. */
  readonly directory?: string | undefined
  /** Receives what tools throw. */
  readonly onError?: OnError | undefined
}

/** A server that doesn't answer a call in this time is not there. */
const deadlineMs = 30_000

/**
 * Gives an OpenCode server of either generation tools for one run at a time: it is told of an MCP server, and forgets it
 * when the run has settled. OpenCode has MCP servers per directory: while a run has its tools, other sessions of that
 * directory see them too. Their names begin with a random prefix.
 */
export function openCodeHost(options: OpenCodeHostOptions = {}): ToolHost {
  // A wrong address is told at once.
  const given = options.url === undefined ? undefined : toAddress(options)
  return {
    offer: async (tools, input, driver) => {
      const own = serverOf(driver)
      const directory = options.directory ?? own?.directory
      return await offer(tools, input, { ...(given ?? own ?? toAddress(options)), directory, onError: options.onError })
    },
  }
}

interface Target {
  readonly url: string
  readonly authorization?: string | undefined
  readonly directory: string | undefined
  readonly onError: OnError | undefined
}

async function offer(
  tools: Tools,
  input: PromptInput,
  { url, authorization, directory, onError }: Target,
): Promise<OfferedTools> {
  const served = await serveTools(tools, { onError })
  const name = `reply_${randomBytes(4).toString('hex')}`
  let second: boolean | undefined
  try {
    second = await isSecond()
    const config = { type: 'remote', url: served.url, headers: served.headers, oauth: false }
    await (second ? addToSecond(name, config) : addToFirst(name, config))
    return { input, close }
  } catch (error) {
    await close()
    throw error
  }

  async function close(): Promise<void> {
    // A server that has ended has no tools either, nor has one that was never told.
    if (second !== undefined) await forget(name, second).catch(() => {})
    await served.close()
  }

  async function forget(name: string, second: boolean): Promise<void> {
    if (second) await call('DELETE', `/api/mcp/${name}`, second)
    else await call('POST', `/mcp/${name}/disconnect`, second)
  }

  async function isSecond(): Promise<boolean> {
    const said = await call('GET', '/api/health', true).catch(() => undefined)
    return typeof said === 'object' && said !== null && 'pid' in said
  }

  async function addToFirst(name: string, config: object): Promise<void> {
    const told = await call('POST', '/mcp', false, { name, config })
    requireConnected(statusIn(told, name))
  }

  async function addToSecond(name: string, config: object): Promise<void> {
    // In code mode the model would call the tools from a script.
    await call('PUT', `/api/mcp/${name}`, true, { config: { ...config, codemode: false } })
    const listed = await call('GET', '/api/mcp', true)
    const servers = typeof listed === 'object' && listed !== null && 'data' in listed ? listed.data : []
    const own = Array.isArray(servers) ? servers.find((server) => server?.name === name) : undefined
    requireConnected(own?.status)
  }

  async function call(method: string, path: string, second: boolean, body?: object): Promise<unknown> {
    const query = new URLSearchParams(
      directory === undefined ? {} : { [second ? 'location[directory]' : 'directory']: directory },
    )
    const response = await fetch(`${url}${path}?${query}`, {
      method,
      signal: AbortSignal.timeout(deadlineMs),
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new ReplyError('unreachable', `No server answers at ${url}; start one with "opencode serve".`, { cause })
    })
    const text = await response.text()
    if (response.status === 401 || response.status === 403)
      throw new ReplyError('unauthorized', `${url} rejected the credentials (${response.status}); give its password.`)
    if (!response.ok)
      throw new ReplyError('refused', `${url} refused ${method} ${path} (${response.status}): ${text.slice(0, 300)}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}

function statusIn(told: unknown, name: string): unknown {
  return typeof told === 'object' && told !== null ? new Map(Object.entries(told)).get(name) : undefined
}

function requireConnected(status: unknown): void {
  const said = typeof status === 'object' && status !== null && 'status' in status ? status.status : 'unknown'
  if (said === 'connected') return
  const reason = typeof status === 'object' && status !== null && 'error' in status ? `: ${String(status.error)}` : ''
  throw new ReplyError('refused', `OpenCode could not connect to the tools (${String(said)})${reason}`)
}
