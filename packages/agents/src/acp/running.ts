import { basename, resolve } from 'node:path'
import { type Clock, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter, guarded, safeOnError } from '@reply/core/internal'
import { type AcpAgent, readInitialize } from './decode/response.ts'
import { connectLink, type Link, type LinkHandlers, toReplyError } from './link.ts'
import type { AcpOptions } from './options.ts'
import { startTransport, type Transport } from './transport.ts'

/** The options with their defaults filled in. */
export interface Settings extends AcpOptions {
  readonly name: string
  readonly cwd: string
  readonly files: 'none' | 'read' | 'write'
  readonly terminals: boolean
  /** Removes secrets from the agent's words about failures. */
  readonly redact: (text: string) => string
  readonly clock: Clock
  readonly deadlineMs: number
  /** Starts the agent; another one in tests. */
  readonly open: () => Promise<Transport>
}

export function toSettings(options: AcpOptions): Settings {
  const { command, clock = systemClock, deadlineMs = 60_000, files = 'write', terminals = false } = options
  if (!(deadlineMs > 0)) throw new ReplyError('invalid', `deadlineMs is ${deadlineMs}; give a number above 0.`)
  const name = options.name ?? basename(command)
  const cwd = resolve(options.cwd ?? '.')
  // A function of the host that throws must not end a run.
  const onError = safeOnError(options.onError)
  const told = {
    onError,
    onStderr: guarded('onStderr', options.onStderr, onError),
    onNotice: guarded('onNotice', options.onNotice, onError),
    onMessage: guarded('onMessage', options.onMessage, onError),
  }
  const redact = createSecretFilter({ args: options.args, env: { ...process.env, ...options.env } })
  const open = (): Promise<Transport> => startTransport({ ...options, ...told, cwd, name })
  return { ...options, ...told, name, cwd, files, terminals, redact, clock, deadlineMs, open }
}

/** An agent that has answered `initialize`. */
export interface Running {
  readonly link: Link
  readonly agent: AcpAgent
  /** The sessions that this process of the agent has opened. */
  readonly opened: Set<string>
}

/** The version of the protocol that this package speaks. */
const protocolVersion = 1

/** Starts the agent and greets it. Rejects with `unreachable`, or `unauthorized` if it refuses the login. */
export async function startRunning(settings: Settings, handlers: LinkHandlers): Promise<Running> {
  const { name, redact, clock, deadlineMs, authMethodID } = settings
  const link = connectLink({ transport: await settings.open(), handlers, name, redact, clock })
  try {
    const agent = readInitialize(await firstAnswer())
    if (!agent) throw new ReplyError('malformed', `${name} answered "initialize" with something else than ACP.`)
    if (agent.protocolVersion !== protocolVersion) {
      const words = `${name} speaks version ${agent.protocolVersion} of the Agent Client Protocol, not ${protocolVersion}`
      throw new ReplyError('unsupported', `${words}: use a version of the agent that speaks ${protocolVersion}.`)
    }
    if (authMethodID !== undefined) await link.request('authenticate', { methodId: authMethodID }, deadlineMs)
    return { link, agent, opened: new Set() }
  } catch (error) {
    await link.close()
    throw toReplyError(error, `Starting ${name}`)
  }

  async function firstAnswer(): Promise<unknown> {
    const clientCapabilities = {
      fs: { readTextFile: settings.files !== 'none', writeTextFile: settings.files === 'write' },
      terminal: settings.terminals,
      elicitation: { form: {} },
      session: {
        compaction: {},
        configOptions: { boolean: {} },
        ...(settings.onNotice && { notices: {} }),
      },
    }
    const clientInfo = { name: 'reply', version: '0.1.0' }
    const answered = link.request('initialize', { protocolVersion, clientCapabilities, clientInfo }, deadlineMs)
    const died = link.ended.then((how): never => {
      const cure = 'Run it by hand in that folder, or read what it says with onStderr.'
      throw new ReplyError('unreachable', `${name} ${how} before it answered "initialize". ${cure}`)
    })
    // A closed link rejects the request too, with less to say.
    return await Promise.race([
      answered.catch(async (error: unknown) => await Promise.race([died, rejectLater(error)])),
      died,
    ])
  }

  /** Leaves the process time to say how it ended. */
  function rejectLater(error: unknown): Promise<never> {
    return new Promise((_, reject) => clock.after(1000, () => reject(error)))
  }
}
