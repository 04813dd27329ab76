import { type Client, type Clock, ReplyError, systemClock } from '@reply/core'
import { isNoticeChannel, type LoadChannel, loadChannel } from '../chats/load-channel.ts'
import { type LoadedConfig, loadConfig, type ReadSecret } from '../config/load.ts'
import { parseChannel } from '../config/parse.ts'
import { agUiAgent, type BridgeConfig } from '../config/schema.ts'
import { BridgeError, messageOf } from '../error.ts'
import { linksOf } from '../pages/run-pages.ts'
import { type ConnectServerOptions, connectServer, type ServerConfig, secretNamesIn } from '../servers/connect.ts'
import { requireUnexposed, warningsOf } from '../servers/safety.ts'
import { configuredState, type LoadStore } from '../store/load-store.ts'
import { requireWholeState } from '../transfer/transfer-state.ts'
import { checkTranscriber } from '../voice/check-transcriber.ts'

/** One part of a config, and whether it works. */
export interface CheckedPart {
  /** The part: `channel tg`, `server home`, `people`, `transcribe`, `web`, `state`, or `config`. */
  readonly part: string
  /** Whether a bridge could use it now. */
  readonly isUsable: boolean
  /** The result if it is usable, otherwise what failed and how to fix it. Contains no secrets. */
  readonly found: string
}

/** Options of `checkBridge`. */
export interface CheckOptions {
  /** The path of the config. */
  readonly path: string
  /** The environment variables for secrets. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Loads the package of a channel. Default: `@reply/<type>`. */
  readonly load?: LoadChannel | undefined
  /** Loads the package of the state. Default: `@reply/<type>`. SQLite needs none. */
  readonly loadStore?: LoadStore | undefined
  /** How long a server, a platform or the state may take to respond, in ms. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /** Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/**
 * Checks each part of a config separately: the file, every secret, each channel's token with a call to its platform, each
 * server with a call that needs its password and directory, the programs for voice notes, and the state. Changes nothing, and works beside a
 * running bridge. Never rejects. If the config can't be read, the result has a single part `config`.
 */
export async function checkBridge(options: CheckOptions): Promise<readonly CheckedPart[]> {
  const { path, env = process.env, load = loadChannel, timeoutMs = 10_000, clock = systemClock } = options
  let loaded: LoadedConfig
  try {
    loaded = loadConfig(path, env)
  } catch (error) {
    return [{ part: 'config', isUsable: false, found: messageOf(error) }]
  }
  const { config, secret } = loaded
  const { transcribe, web } = config
  const secretNames = secretNamesIn(config)
  return await Promise.all([
    ...Object.entries(config.channels).map(async ([name, entry]) => {
      return await checkPart(`channel ${name}`, async () => await checkChannel(name, entry, load, secret))
    }),
    ...Object.entries(config.servers).map(async ([name, server]) => {
      return await checkPart(`server ${name}`, async () => {
        const guarded = server.trustPrompt ? [] : peopleWithoutApprove(config)
        const found = await checkServer(server, { secret, secretNames, timeoutMs, clock, guarded })
        return [found, ...(server.url === undefined ? [] : [followedIn(server)]), ...warningsOf(config, name)].join(
          '\n',
        )
      })
    }),
    checkPeople(config),
    ...(transcribe ? [checkPart('transcribe', async () => checkTranscriber(transcribe, secret, env.PATH))] : []),
    ...(web ? [checkPart('web', async () => checkWeb(web, secret))] : []),
    checkPart('state', async () => await checkState(loaded, { load: options.loadStore, clock })),
  ])

  /**
   * Runs a check, and resolves with its result. Never rejects: an error, or no result within `timeoutMs`, makes the part
   * unusable.
   */
  async function checkPart(part: string, check: () => Promise<string>): Promise<CheckedPart> {
    try {
      return { part, isUsable: true, found: await withTimeout(check(), timeoutMs, clock) }
    } catch (error) {
      return { part, isUsable: false, found: messageOf(error) }
    }
  }
}

/** Resolves as the call does. Rejects after `timeoutMs`. The call itself may continue, but its result is ignored. */
export async function withTimeout<T>(call: Promise<T>, timeoutMs: number, clock: Clock): Promise<T> {
  let stopTimer = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const seconds = Math.round(timeoutMs / 1000)
    stopTimer = clock.after(timeoutMs, () => reject(new BridgeError('config', `No response within ${seconds} s.`)))
  })
  return await Promise.race([call, late]).finally(() => stopTimer())
}

/**
 * Checks the state of a config, and that it is not a part of an import. Resolves with sentences about it, one per line. Rejects
 * with an error for people.
 */
export async function checkState(
  settings: Pick<LoadedConfig, 'state' | 'secret'>,
  options: { readonly load: LoadStore | undefined; readonly clock: Clock },
): Promise<string> {
  const { check, openExisting } = await configuredState(settings, options)
  const sentences = await check()
  const store = await openExisting()
  try {
    if (store) await requireWholeState(store)
  } finally {
    await store?.close()
  }
  return sentences.join('\n')
}

/**
 * Checks a channel's entry with its own schema, and its token with a call to the platform. Resolves with the name of the bot's
 * account. Rejects with an error for people.
 */
async function checkChannel(
  name: string,
  entry: BridgeConfig['channels'][string],
  load: LoadChannel,
  secret: LoadedConfig['secret'],
): Promise<string> {
  const channel = await load(entry.type)
  const { account } = isNoticeChannel(channel)
    ? await channel.check(parseChannel(channel.schema, name, entry), { secret })
    : await channel.check(parseChannel(channel.schema, name, entry), { secret })
  return account
}

/**
 * Checks that a server responds, accepts the password or token, has the directory and is not exposed, or that an agent starts. Also
 * checks that it can be made to ask before it acts if someone needs that. Resolves with a sentence about it, and a line for
 * each request that it refused. Rejects with an error for people.
 */
export async function checkServer(
  server: ServerConfig,
  {
    timeoutMs,
    clock,
    guarded = [],
    ...rest
  }: Pick<ConnectServerOptions, 'secret' | 'secretNames' | 'clock'> & {
    readonly timeoutMs: number
    /** Names of people who can only prompt it if it asks before it acts. Default: none. */
    readonly guarded?: readonly string[] | undefined
  },
): Promise<string> {
  const { url, agent, directory } = server
  let client: Client | undefined
  const notes: string[] = []
  // Errors that stop nothing, for example a directory that an old server treats as empty.
  const onError = ({ type, message }: ReplyError): void => {
    if (type === 'refused') notes.push(message)
  }
  try {
    client = await connectServer(server, { ...rest, connectTimeoutMs: timeoutMs, clock, onError })
    await client.ready
    await requireUnexposed(server, clock)
    if (guarded.length > 0) await requireGuardFor(client, guarded)
    const where = directory === undefined ? '' : ` in ${directory}`
    if (url === undefined) return `${agent} starts${where}`
    if (agent === agUiAgent) return `${url} answers`
    const sessions = await client.sessions({ directory })
    const count = sessions.length === 1 ? '1 session' : `${sessions.length} sessions`
    return [`${url} answers, ${count}${where}`, ...new Set(notes)].join('\n')
  } finally {
    await client?.close()
  }
}

/**
 * Rejects with a `BridgeError` that names the people if the server can't be made to ask before it acts, because they can only
 * prompt it then. Rejects with other errors of the server, too.
 */
async function requireGuardFor(client: Client, guardedPeople: readonly string[]): Promise<void> {
  try {
    await client.requireGuard()
  } catch (error) {
    if (!(error instanceof ReplyError) || error.type !== 'unguarded') throw error
    const cure = 'Or set `trustPrompt` if they may do everything that it can.'
    throw new BridgeError('config', `${guardedPeople.join(', ')} can't prompt it. ${error.message} ${cure}`, {
      cause: error,
    })
  }
}

/** Returns a sentence about which chats show runs that were started elsewhere. */
function followedIn({ follow = 'asks', homeChat }: ServerConfig): string {
  if (follow === 'none')
    return 'Runs that were started elsewhere are not shown, unless a chat changes that with /follow.'
  const rest =
    homeChat === undefined
      ? 'Those of other sessions: the private chat that prompted them last, as long as its person has `approve`. Set `homeChat` for the rest'
      : `Those of other sessions: ${homeChat}`
  return `Runs that were started elsewhere: ${follow}, in the chat of their session. ${rest}.`
}

/** Returns the names of the people without `approve`. */
function peopleWithoutApprove({ people }: BridgeConfig): readonly string[] {
  return Object.keys(people).filter((name) => !people[name]?.may.includes('approve'))
}

/** Returns the part `people`: unusable without people, with a note if no one has `approve`. */
function checkPeople({ people }: BridgeConfig): CheckedPart {
  const names = Object.keys(people)
  if (names.length === 0)
    return { part: 'people', isUsable: false, found: 'The bridge refuses everyone. Add a person to `people`.' }
  const approvers = names.filter((name) => people[name]?.may.includes('approve'))
  const note = approvers.length === 0 ? '. No one can answer permission requests.' : ''
  return { part: 'people', isUsable: true, found: `${names.join(', ')}${note}` }
}

/** Returns where the pages of runs are, if their links can be signed. Throws a `BridgeError` otherwise. */
function checkWeb(web: NonNullable<BridgeConfig['web']>, secret: ReadSecret): string {
  linksOf(web, secret)
  const { publicUrl, listen, linkHours } = web
  return `Chats link to ${publicUrl} for ${linkHours} hours, served at ${listen ?? 'the address of --listen'}.`
}
