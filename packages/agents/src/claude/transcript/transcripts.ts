import { createReadStream, existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { LocalHistory, SessionInfo } from '@reply/core/source'
import type { Checklist } from '../checklist.ts'
import { decodeSubAgentFile, decodeTranscriptLine, type TranscriptLine } from '../decode/transcript-line.ts'
import { createPastWriter, type PastSubAgent } from './past-writer.ts'

/**
 * The transcripts that Claude Code writes of its sessions: a file of JSON lines for each session, in a folder for each
 * project, and beside it a file for each sub-agent. Learned from the files of 2.1.197 and 2.1.332.
 */
export interface Transcripts {
  /** Whether Claude Code has written transcripts on this computer. */
  readonly exist: () => boolean
  /** Finds a session by its transcript. Undefined if it has none. */
  find(sessionID: string): Promise<SessionInfo | undefined>
  /** Lists the sessions that changed most recently, newest first, at most 100. */
  list(query: {
    readonly directory?: string | undefined
    readonly since?: number | undefined
  }): Promise<readonly SessionInfo[]>
  /** Adds the runs of a session to the history, and its tasks to the checklist. Adds nothing without a transcript. */
  read(sessionID: string, history: LocalHistory, checklist: Checklist): Promise<void>
}

/** How many sessions are listed. Each costs the reading of a few lines. */
const mostListed = 100

/** `env` is the environment of Claude Code. */
export function createTranscripts(env: Readonly<Record<string, string | undefined>>): Transcripts {
  const config = env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), '.claude')
  const projects = join(config, 'projects')
  return { exist: () => existsSync(projects), find, list, read }

  async function find(sessionID: string): Promise<SessionInfo | undefined> {
    const path = await pathOf(sessionID)
    return path === undefined ? undefined : await infoOf(path, sessionID)
  }

  /** The session's transcript. Undefined if no project has one. */
  async function pathOf(sessionID: string): Promise<string | undefined> {
    const paths = (await namesIn(projects)).map((folder) => join(projects, folder, `${sessionID}.jsonl`))
    return paths.find((path) => existsSync(path))
  }

  async function list({ directory, since = 0 }: Parameters<Transcripts['list']>[0]): Promise<readonly SessionInfo[]> {
    const folders = await namesIn(projects)
    const wanted = directory === undefined ? folders : folders.filter((folder) => folder === folderOf(directory))
    const files = (await Promise.all(wanted.map(async (folder) => await transcriptsIn(join(projects, folder))))).flat()
    const newest = files.filter(({ updatedAt }) => updatedAt >= since).toSorted((a, b) => b.updatedAt - a.updatedAt)
    const infos = await Promise.all(newest.slice(0, mostListed).map(({ path, sessionID }) => infoOf(path, sessionID)))
    return infos.filter((info) => info !== undefined)
  }

  async function read(sessionID: string, history: LocalHistory, checklist: Checklist): Promise<void> {
    const path = await pathOf(sessionID)
    if (path === undefined) return
    const subAgents = await readSubAgents(path.replace(/\.jsonl$/, ''))
    const writer = createPastWriter(history, checklist, subAgents)
    for await (const line of linesOf(path)) writer.write(line)
    writer.end()
  }
}

/** Claude Code's name for a project's folder. */
function folderOf(directory: string): string {
  return directory.replace(/[^a-zA-Z0-9]/g, '-')
}

/** The names of files and folders in a folder. Empty if it can't be read. */
async function namesIn(path: string): Promise<readonly string[]> {
  return await readdir(path).catch(() => [])
}

/** The transcripts in a project's folder, with the times of their last change in ms since the epoch. */
async function transcriptsIn(folder: string) {
  const names = (await namesIn(folder)).filter((name) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.jsonl$/.test(name))
  return await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const updatedAt = await stat(path).then(
        ({ mtimeMs }) => Math.round(mtimeMs),
        () => 0,
      )
      return { path, sessionID: name.slice(0, -'.jsonl'.length), updatedAt }
    }),
  )
}

/** Reads a transcript up to its first prompt, which gives the title. Undefined if it has none. */
async function infoOf(path: string, sessionID: string): Promise<SessionInfo | undefined> {
  for await (const { prompt, cwd, at } of linesOf(path)) {
    if (!prompt) continue
    const title = prompt.parts.flatMap((part) => (part.type === 'text' ? [part.text.split('\n')[0] ?? ''] : []))[0]
    const updatedAt = await stat(path).then(
      ({ mtimeMs }) => Math.round(mtimeMs),
      () => at,
    )
    return { sessionID, directory: cwd, title: title?.slice(0, 100), createdAt: at, updatedAt }
  }
  return undefined
}

/** Yields the lines that change a reply. */
async function* linesOf(path: string): AsyncIterable<TranscriptLine> {
  const input = createReadStream(path, 'utf8')
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    // Most of a file are copies of requests, which are large.
    if (!/"type":"(?:user|assistant|system)"/.test(line)) continue
    const found = decodeTranscriptLine(line)
    if (found) yield found
  }
}

/** Reads the transcripts of a session's sub-agents, by the call that started each. */
async function readSubAgents(folder: string): Promise<ReadonlyMap<string, PastSubAgent>> {
  const subagents = join(folder, 'subagents')
  const found = await Promise.all(
    (await namesIn(subagents)).map(async (name) => {
      if (!name.endsWith('.meta.json')) return undefined
      const text = await readFile(join(subagents, name), 'utf8').catch(() => '')
      const { toolUseId, description } = decodeSubAgentFile(text) ?? {}
      if (toolUseId === undefined) return undefined
      const lines: TranscriptLine[] = []
      const path = join(subagents, name.replace(/\.meta\.json$/, '.jsonl'))
      if (existsSync(path)) for await (const line of linesOf(path)) lines.push(line)
      const sessionID = name.slice(0, -'.meta.json'.length)
      return [toolUseId, { sessionID, title: description ?? '', lines }] as const
    }),
  )
  return new Map(found.filter((each) => each !== undefined))
}
