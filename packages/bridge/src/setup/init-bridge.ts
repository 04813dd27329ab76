import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import type { BridgeChannel, SecretSource } from '@reply/sink/channel'
import { type LoadChannel, loadChannel } from '../channel-loader.ts'
import { parseChannel, parseConfig } from '../config/config.ts'
import { faultyFields } from '../config/fields.ts'
import type { BridgeConfig } from '../config/schema.ts'
import { BridgeError, wordsOf } from '../error.ts'
import { secretNamesIn } from '../servers/connect-server.ts'
import { checkServer } from './check-bridge.ts'
import { pair, pairingCode } from './pairing.ts'
import type { Questions } from './questions.ts'

/** What `initBridge` asks, and where it writes. */
export interface InitOptions {
  /** The path of the config to write. Files with its secrets are written beside it. */
  readonly path: string
  /** Asks the person at the terminal. */
  readonly questions: Questions
  /** Replaces a config that exists. Default false. */
  readonly force?: boolean | undefined
  /** The types of channels to choose from. Default: those of this project. */
  readonly types?: readonly string[] | undefined
  /** Loads channels. Default: `@reply/<type>`. */
  readonly load?: LoadChannel | undefined
  /** How long a server may take to answer, in ms. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

type Server = BridgeConfig['servers'][string]
type Entry = { readonly type: string } & Record<string, unknown>

/** The server's and the channel's secrets, by the names of their files. */
type Secrets = Map<string, string>

/**
 * Asks for a server, a channel and the first person, checks each by a call, and writes the config. Secrets go into files
 * that only their owner can read. Nothing is written before all is known. Rejects with `BridgeError` of type `config` for
 * a config that exists, and with what the questions reject with.
 */
export async function initBridge(options: InitOptions): Promise<void> {
  const { path, questions, force = false, types = ['telegram', 'slack', 'discord', 'whatsapp'] } = options
  const { load = loadChannel, timeoutMs = 10_000, clock = systemClock } = options
  if (existsSync(path) && !force)
    throw new BridgeError('config', `${path} exists already. Name another file, or replace it with --force.`)
  const secrets: Secrets = new Map()
  const secret = (source: SecretSource): string => ('file' in source && secrets.get(source.file)) || ''
  const server = await askServer()
  const type = await questions.choose(
    'Where do people write to the bot?',
    types.map((value) => ({ value, label: value })),
  )
  const channel = await load(type)
  const entry = await askChannel(channel)
  const person = await askPerson(channel, entry)
  const config = { servers: { home: server }, channels: { [type]: entry }, people: person, state: './state' }
  parseConfig(config)
  await write(config)

  async function askServer(): Promise<Server> {
    const url = await questions.text('The address of the OpenCode server', {
      initial: 'http://127.0.0.1:4096',
      check: (text) => (/^https?:\/\//.test(text) && URL.canParse(text) ? undefined : 'Write it as http://host:port.'),
    })
    const directory = await questions.text('The project’s folder on that server', { initial: process.cwd() })
    let server: Server = { url, directory }
    for (;;) {
      try {
        questions.say(
          `✓ ${await checkServer(server, { secret, secretNames: secretNamesIn(server), timeoutMs, clock })}`,
        )
        return server
      } catch (error) {
        questions.say(`✗ ${wordsOf(error)}`)
        if (!isUnauthorized(error)) return await askServer()
        server = { ...server, password: await askSecret('home-password', 'The server’s password') }
      }
    }
  }

  async function askSecret(name: string, question: string): Promise<SecretSource> {
    const file = `./${name}.secret`
    secrets.set(file, await questions.secret(question))
    return { file }
  }

  /** Asks for what the channel's own schema misses, until that and the platform accept the entry. */
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
        questions.say(`✗ ${wordsOf(error)}`)
        entry = { type }
      }
    }
  }

  /** The first person gets in by a code, or by an id that is typed. */
  async function askPerson(channel: BridgeChannel, entry: Entry): Promise<BridgeConfig['people']> {
    const name = await questions.text('Your name, as the config should call you')
    const code = pairingCode()
    const typed = new AbortController()
    const heard = new AbortController()
    questions.say(`Write this code to the bot, in a private chat: ${code}`)
    const config = channel.schema.parse(entry)
    const onError = (error: Error): void => questions.say(`✗ ${error.message}`)
    const paired = pair({ channel, config, code, secret, onError, clock, signal: typed.signal }).then((actor) => {
      if (!actor) return undefined
      heard.abort()
      questions.say(`✓ ${actor.name} (${actor.id})`)
      return actor.id
    })
    const asked = questions.text(`Waiting for the code. Or type your id on ${type}`, { signal: heard.signal })
    try {
      const id = await Promise.race([
        paired.then((found) => found ?? asked),
        asked.catch((error: unknown) => {
          if (heard.signal.aborted) return paired
          throw error
        }),
      ])
      return { [name]: { ids: [`${type}:${id}`], may: ['prompt', 'approve', 'admin'] } }
    } finally {
      typed.abort()
      heard.abort()
      await paired.catch(() => {})
    }
  }

  /** The config comes last: without it, the rest is not used. */
  async function write(config: object): Promise<void> {
    const folder = dirname(resolve(path))
    await mkdir(folder, { recursive: true })
    for (const [file, text] of secrets) {
      await writeFile(join(folder, file), `${text}\n`, { mode: 0o600 })
      // The mode counts only for a file that is new.
      await chmod(join(folder, file), 0o600)
    }
    const flag = force ? 'w' : 'wx'
    await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { flag })
    questions.say(`✓ ${path}`)
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'unauthorized'
}
