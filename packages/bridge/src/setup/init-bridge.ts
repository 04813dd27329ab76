import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import { type BridgeChannel, keepSecret, secretSource } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import { isNoticeChannel, type LoadChannel, loadChannel } from '../chats/load-channel.ts'
import { reachedFrom } from '../config/agent-reach.ts'
import { faultyFields } from '../config/faulty-fields.ts'
import { secretFilesIn, secretsOf } from '../config/load.ts'
import { parseChannel, parseConfig } from '../config/parse.ts'
import { type BridgeConfig, isLoopback, serverSchema } from '../config/schema.ts'
import { BridgeError, errorTypeOf, messageOf } from '../error.ts'
import { secretNamesIn } from '../servers/connect.ts'
import { configuredState, type LoadStore } from '../store/load-store.ts'
import { checkServer, checkState, withTimeout } from './check-bridge.ts'
import { type ListenAddress, pair } from './pairing.ts'

/** Options of `initBridge`. */
export interface InitOptions {
  /**
   * The path of the config to write, for example that of `defaultConfigPath`. Files with secrets are written beside it. If
   * the agent could access it, `initBridge` asks for another folder.
   */
  readonly path: string
  /** Asks the person at the terminal. */
  readonly questions: Questions
  /** Whether to replace an existing config. Default: false. */
  readonly force?: boolean | undefined
  /** Loads the package of a channel. Default: `@reply/<type>`. */
  readonly load?: LoadChannel | undefined
  /** Loads the package of the state. Default: `@reply/<type>`. SQLite needs none. */
  readonly loadStore?: LoadStore | undefined
  /** The environment variables with which the state is checked. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Where to listen for the pairing code on a webhook channel. Default: you have to type your id there. */
  readonly listen?: ListenAddress | undefined
  /** How long a server or the state may take to respond, in ms. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /** Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** A server's entry of the config. */
type Server = BridgeConfig['servers'][string]
/** A channel's entry of the config. */
type Entry = { readonly type: string } & Record<string, unknown>

/** The first person of a config. */
interface FirstPerson {
  readonly people: BridgeConfig['people']
  /** Their private chat with the bot, as `homeChat`. Undefined if only their id is known. */
  readonly homeChat: string | undefined
}

/** The channels where the id of a person is also that of their private chat. */
const hasChatsByPerson: ReadonlySet<string> = new Set(['telegram', 'whatsapp'])

/** The server's and the channel's secrets, by the names of their files. */
type Secrets = Map<string, string>

/**
 * Asks for a server, a channel, the place of the state and the first person, checks each with a call, and writes the config.
 * Secrets go into files that only their owner can read, or stay in the environment. Writes nothing before all questions are
 * answered. Resolves with the path of the config. Rejects with `BridgeError` of type `config` if the config exists, and with the
 * errors of `questions`.
 */
export async function initBridge(options: InitOptions): Promise<string> {
  const { questions, force = false, listen, env = process.env } = options
  const { load = loadChannel, timeoutMs = 10_000, clock = systemClock } = options
  let path = resolve(options.path)
  requireNoConfig()
  const secrets: Secrets = new Map()
  const secret = (source: SecretSource): string => ('file' in source && secrets.get(source.file)) || ''
  const server = await askServer()
  const type = await questions.choose(
    'Where do people write to the bot?',
    ['telegram', 'slack', 'discord', 'whatsapp'].map((value) => ({ value, label: value })),
  )
  const channel = await load(type)
  if (isNoticeChannel(channel)) throw new BridgeError('channel', `${type} has no chats. Choose another channel.`)
  const entry = await askChannel(channel)
  const state = await askState()
  const { people, homeChat } = await askPerson(channel, entry)
  sayHomeChat(type, homeChat)
  const home = homeChat === undefined ? server : { ...server, homeChat }
  const config = { servers: { home }, channels: { [type]: entry }, people, state }
  parseConfig(config)
  await writeFiles(config)
  return path

  /** Throws a `BridgeError` if the config exists and may not be replaced. */
  function requireNoConfig(): void {
    if (existsSync(path) && !force)
      throw new BridgeError('config', `${path} already exists. Choose another file, or replace it with --force.`)
  }

  /**
   * Changes the path of the config to a folder that it asks for, if an agent in the directory could access it. Does nothing
   * otherwise. Throws if there is a config that may not be replaced.
   */
  async function moveOutOfReach(directory: string): Promise<void> {
    if (reachedFrom(directory, [path]) === undefined) return
    questions.say(
      reachedFrom(directory, [homedir()]) === undefined
        ? `An agent in ${directory} can access ${path}: it could grant itself rights and read the bot’s token.`
        : `${directory} contains your home folder, so an agent there can access everything in it, including ${path}.`,
    )
    const folder = await questions.text('Another folder for the bridge’s own files', {
      check: (text) => {
        const newPath = join(resolve(text), basename(path))
        return reachedFrom(directory, [newPath]) === undefined ? undefined : `The agent can access ${newPath}, too.`
      },
    })
    path = join(resolve(folder), basename(path))
    requireNoConfig()
  }

  /**
   * Asks for the address, folder and password of the server until it responds and accepts the password, and resolves with its
   * entry. After a wrong password, asks for that alone, and after other errors for everything. May change the path of the
   * config.
   */
  async function askServer(): Promise<Server> {
    const url = await questions.text('The address of the OpenCode server', {
      initial: 'http://127.0.0.1:4096',
      check: (text) => serverSchema.safeParse({ url: text }).error?.issues[0]?.message,
    })
    const directory = await questions.text('The project’s folder on that server', { initial: process.cwd() })
    await moveOutOfReach(directory)
    let server: Server = { url, directory }
    if (!isLoopback(new URL(url).hostname)) {
      questions.say('That is another computer, so the server needs a password.')
      server = { ...server, password: await askSecret('home-password', 'The server’s password') }
    }
    for (;;) {
      try {
        questions.say(
          `✓ ${await checkServer(server, { secret, secretNames: secretNamesIn(server), timeoutMs, clock })}`,
        )
        return server
      } catch (error) {
        questions.say(`✗ ${messageOf(error)}`)
        if (errorTypeOf(error) !== 'unauthorized') return await askServer()
        server = { ...server, password: await askSecret('home-password', 'The server’s password') }
      }
    }
  }

  /** Asks for a secret, keeps the answer for `writeFiles`, and resolves with the file that will contain it. */
  async function askSecret(name: string, question: string): Promise<SecretSource> {
    const file = unusedSecretFile(name)
    const value = await questions.secret(question)
    keepSecret(value)
    secrets.set(file, value)
    return { file }
  }

  /**
   * Returns a file name that is not used yet, because another config in the folder may use existing ones. With `force`, returns
   * the first one.
   */
  function unusedSecretFile(name: string): string {
    for (let number = 1; ; number++) {
      const file = `./${name}${number === 1 ? '' : `-${number}`}.secret`
      if (force || secrets.has(file) || !existsSync(join(dirname(path), file))) return file
    }
  }

  /**
   * Asks for missing and invalid fields until the channel's schema and the platform accept the entry, and resolves with it. If
   * the platform refuses it, starts again with no fields. Accepts an account that is still to be linked.
   */
  async function askChannel({ schema, check }: BridgeChannel): Promise<Entry> {
    let entry: Entry = { type }
    for (;;) {
      const fields = faultyFields(schema, entry)
      for (const { name, description, isSecret, choices, fault } of fields) {
        if (fault !== undefined) questions.say(`✗ ${name}: ${fault}`)
        const question = `${name}: ${description}`
        const value = isSecret
          ? await askSecret(`${type}-${name}`, question)
          : choices.length > 0
            ? await questions.choose(
                question,
                choices.map((choice) => ({ value: choice, label: choice })),
              )
            : await questions.text(question)
        entry = { ...entry, [name]: value }
      }
      if (fields.length > 0) continue
      const config = parseChannel(schema, type, entry)
      try {
        questions.say(`✓ ${(await check(config, { secret })).account}`)
        return entry
      } catch (error) {
        questions.say(`✗ ${messageOf(error)}`)
        // Pairing starts with the first connection, which links the account.
        if (errorTypeOf(error) === 'unlinked') return entry
        entry = { type }
      }
    }
  }

  /**
   * Asks where to keep the state, and resolves with the `state` of the config. Checks a database if the environment variable
   * with its address is set, and asks again if that fails or if its package can't be loaded.
   */
  async function askState(): Promise<BridgeConfig['state']> {
    const type = await questions.choose('Where should the bridge keep its state?', [
      { value: 'sqlite', label: 'on this computer, in a SQLite file' },
      { value: 'postgres', label: 'in a PostgreSQL database' },
    ])
    if (type === 'sqlite') return './state'
    const name = await questions.text('The environment variable with the address of the database', {
      initial: 'DATABASE_URL',
      check: (text) => secretSource.safeParse({ env: text }).error?.issues[0]?.message,
    })
    const state = { type, url: { env: name } }
    const settings = { state, secret: secretsOf(dirname(path), env) }
    const storeOptions = { load: options.loadStore, clock }
    try {
      if (env[name]?.trim())
        questions.say(`✓ ${await withTimeout(checkState(settings, storeOptions), timeoutMs, clock)}`)
      else {
        await configuredState(settings, storeOptions)
        questions.say(`${name} is not set here, so the database was not checked. Set it where the bridge runs.`)
      }
      return state
    } catch (error) {
      questions.say(`✗ ${messageOf(error)}`)
      return await askState()
    }
  }

  /**
   * Asks for the name of the first person, and for an id: the person sends a code to the bot, or types the id. Resolves with
   * the `people` of the config, in which this person has all rights, and with the name of their private chat if it is known. If the bot can't receive the code, says why, and only asks
   * for the id. Rejects if the question is canceled.
   */
  async function askPerson(channel: BridgeChannel, channelEntry: object): Promise<FirstPerson> {
    const { type } = channel
    const name = await questions.text('Your name in the config')
    const pairingAborter = new AbortController()
    const questionAborter = new AbortController()
    let setReceiving = (): void => {}
    const receiving = new Promise<boolean>((resolve) => {
      setReceiving = () => resolve(true)
    })
    const paired = pair({
      channel,
      config: channel.schema.parse(channelEntry),
      secret,
      listen,
      clock,
      signal: pairingAborter.signal,
      onError: (error) => questions.say(`✗ ${error.message}`),
      onWebhook: (url) => questions.say(`Let ${type} send its requests to ${url}.`),
      onCode: (code) => {
        questions.say(`Write this code to the bot, in a private chat: ${code}`)
        setReceiving()
      },
    }).then(
      (found) => {
        if (!found) return undefined
        const { actor, chat } = found
        questionAborter.abort()
        questions.say(`✓ ${actor.name} (${actor.id})`)
        return { id: actor.id, chat: chat.id }
      },
      (error: unknown) => void questions.say(`✗ ${messageOf(error)}`),
    )
    try {
      const isReceiving = await Promise.race([receiving, paired.then(() => false)])
      const question = isReceiving ? `Waiting for the code. You can also type your id on ${type}` : `Your id on ${type}`
      const check = (text: string): string | undefined => (/\s/.test(text) ? 'An id has no spaces.' : undefined)
      const typedID = questions
        .text(question, { check, signal: questionAborter.signal })
        .then((id) => ({ id, chat: hasChatsByPerson.has(type) ? id : undefined }))
      const found = await Promise.race([
        paired.then((one) => one ?? typedID),
        typedID.catch((error: unknown) => {
          if (questionAborter.signal.aborted) return paired
          throw error
        }),
      ])
      const { id, chat } = found ?? (await typedID)
      return {
        people: { [name]: { ids: [`${type}:${id}`], may: ['prompt', 'approve', 'admin'] } },
        homeChat: chat === undefined ? undefined : `${type}:${chat}`,
      }
    } finally {
      pairingAborter.abort()
      questionAborter.abort()
      await paired
    }
  }

  /** Says which chat shows what agents ask in runs that were started elsewhere, or how to name one. */
  function sayHomeChat(type: string, homeChat: string | undefined): void {
    questions.say(
      homeChat === undefined
        ? `Runs that you start in a terminal show nothing in ${type} yet: name a chat for their requests as \`homeChat\` in the config.`
        : `✓ What the agent asks in runs that you start in a terminal is shown in ${homeChat}, your private chat. To change that: \`homeChat\` and \`follow\` in the config.`,
    )
  }

  /**
   * Writes the secrets that the config names and then the config, so that an interrupted run leaves no config without its
   * secrets. Rejects if a file exists, unless `force` is set.
   */
  async function writeFiles(config: object): Promise<void> {
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Only secrets that the config names are written: others belong to rejected answers.
    for (const file of secretFilesIn(config)) {
      // An existing file would keep its mode.
      if (force) await rm(join(folder, file), { force })
      await writeFile(join(folder, file), `${secrets.get(file) ?? ''}\n`, { mode: 0o600, flag: 'wx' })
    }
    const flag = force ? 'w' : 'wx'
    await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600, flag })
    questions.say(`✓ ${path}`)
  }
}

/**
 * Returns the default path of a bridge's config, outside all projects: `$XDG_CONFIG_HOME/reply/<name>/reply.json`. Without
 * `XDG_CONFIG_HOME`, it is in `~/.config`, or on Windows in `%APPDATA%`.
 */
export function defaultConfigPath(name: string, env: Readonly<Record<string, string | undefined>>): string {
  const { XDG_CONFIG_HOME = '', APPDATA = '', HOME = homedir() } = env
  // A relative one is not valid: https://specifications.freedesktop.org/basedir-spec/latest/
  const configHome = [XDG_CONFIG_HOME, process.platform === 'win32' ? APPDATA : ''].find(isAbsolute)
  return join(configHome ?? join(HOME, '.config'), 'reply', name, 'reply.json')
}

/** Asks the person at the terminal. Each method rejects if the person cancels. */
export interface Questions {
  /** Asks for a line of text. */
  text(question: string, options?: TextOptions): Promise<string>
  /** Asks for a line of text that is not shown while it is typed. */
  secret(question: string): Promise<string>
  /** Asks for one of several choices. Resolves with its `value`. */
  choose<Value extends string>(question: string, choices: readonly Choice<Value>[]): Promise<Value>
  /** Shows a message. */
  say(text: string): void
}

/** Options of `Questions.text`. */
export interface TextOptions {
  /** The answer if nothing is typed. */
  readonly initial?: string | undefined
  /** Returns why an answer is invalid, or undefined if it is valid. */
  readonly check?: ((text: string) => string | undefined) | undefined
  /** Cancels the question. */
  readonly signal?: AbortSignal | undefined
}

/** A choice of `Questions.choose`. */
export interface Choice<Value extends string> {
  /** The result of the question. */
  readonly value: Value
  /** The label that the person sees. */
  readonly label: string
}
