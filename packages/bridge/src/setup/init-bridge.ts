import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import { type BridgeChannel, keepSecret, type SecretSource } from '@reply/sink/channel'
import { type LoadChannel, loadChannel } from '../channel-loader.ts'
import { parseChannel, parseConfig } from '../config/config.ts'
import { faultyFields } from '../config/fields.ts'
import { secretFilesIn } from '../config/load.ts'
import { type BridgeConfig, serverSchema } from '../config/schema.ts'
import { BridgeError, wordsOf } from '../error.ts'
import { secretNamesIn } from '../servers/connect-server.ts'
import { isLoopback } from '../servers/loopback.ts'
import { askPerson } from './ask-person.ts'
import { checkServer } from './check-bridge.ts'
import type { ListenAddress } from './pairing.ts'
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
  /** Where to hear the pairing code on a channel that brings messages as requests. Default: the id has to be typed. */
  readonly listen?: ListenAddress | undefined
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
  const { path, questions, force = false, listen, types = ['telegram', 'slack', 'discord', 'whatsapp'] } = options
  const { load = loadChannel, timeoutMs = 10_000, clock = systemClock } = options
  if (existsSync(path) && !force)
    throw new BridgeError('config', `${path} exists already. Name another file, or replace it with --force.`)
  const folder = dirname(resolve(path))
  const secrets: Secrets = new Map()
  const secret = (source: SecretSource): string => ('file' in source && secrets.get(source.file)) || ''
  const server = await askServer()
  const type = await questions.choose(
    'Where do people write to the bot?',
    types.map((value) => ({ value, label: value })),
  )
  const channel = await load(type)
  const entry = await askChannel(channel)
  const person = await askPerson({ channel, entry, questions, secret, listen, clock })
  const config = { servers: { home: server }, channels: { [type]: entry }, people: person, state: './state' }
  parseConfig(config)
  await write(config)

  async function askServer(): Promise<Server> {
    const url = await questions.text('The address of the OpenCode server', {
      initial: 'http://127.0.0.1:4096',
      check: (text) => serverSchema.safeParse({ url: text }).error?.issues[0]?.message,
    })
    const directory = await questions.text('The project’s folder on that server', { initial: process.cwd() })
    let server: Server = { url, directory }
    if (!isLoopback(new URL(url).hostname)) {
      questions.say('It is not this computer, so the server needs a password.')
      server = { ...server, password: await askSecret('home-password', 'The server’s password') }
    }
    for (;;) {
      try {
        questions.say(
          `✓ ${await checkServer(server, { secret, secretNames: secretNamesIn(server), timeoutMs, clock })}`,
        )
        return server
      } catch (error) {
        questions.say(`✗ ${wordsOf(error)}`)
        if (!isOfType(error, 'unauthorized')) return await askServer()
        server = { ...server, password: await askSecret('home-password', 'The server’s password') }
      }
    }
  }

  async function askSecret(name: string, question: string): Promise<SecretSource> {
    const file = freeFile(name)
    const value = await questions.secret(question)
    keepSecret(value)
    secrets.set(file, value)
    return { file }
  }

  /** A file that another config in the folder may use is left alone. */
  function freeFile(name: string): string {
    for (let number = 1; ; number++) {
      const file = `./${name}${number === 1 ? '' : `-${number}`}.secret`
      if (force || secrets.has(file) || !existsSync(join(folder, file))) return file
    }
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
        // The first connection links it: that is what hearing the code begins with.
        if (isOfType(error, 'unlinked')) return entry
        entry = { type }
      }
    }
  }

  /** The config comes last: without it, the rest is not used. */
  async function write(config: object): Promise<void> {
    await mkdir(folder, { recursive: true })
    // What was asked for an answer that did not hold is not kept.
    for (const file of secretFilesIn(config)) {
      // A file that exists would keep its mode.
      if (force) await rm(join(folder, file), { force })
      await writeFile(join(folder, file), `${secrets.get(file) ?? ''}\n`, { mode: 0o600, flag: 'wx' })
    }
    const flag = force ? 'w' : 'wx'
    await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { flag })
    questions.say(`✓ ${path}`)
  }
}

function isOfType(error: unknown, type: string): boolean {
  return error instanceof Error && 'type' in error && error.type === type
}
