import { mkdir, readFile, readlink, realpath, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { type ClientApp, RequestError } from '@agentclientprotocol/sdk'
import { readFileRequest, writeFileRequest } from './decode/v1/schema.ts'

/** Which files an agent may read and write. */
export interface FileRights {
  readonly files: 'none' | 'read' | 'write'
  /** The folder of a session. Undefined for an unknown session, which may access no files. */
  folderOf(sessionID: string): string | undefined
}

/** The largest file that is read for an agent, in bytes. */
const maxBytes = 16 * 1024 * 1024

/**
 * Registers the file methods that the agent may call: none, to read, or to read and write. A file that is written is created
 * with its folders.
 */
export function addFiles(app: ClientApp, rights: FileRights): void {
  if (rights.files === 'none') return
  app.onRequest('fs/read_text_file', readFileRequest, async ({ params }) => ({
    content: excerptOf(await readText(await allowedPath(rights, params)), params),
  }))
  if (rights.files !== 'write') return
  app.onRequest('fs/write_text_file', writeFileRequest, async ({ params }) => {
    const path = await allowedPath(rights, params)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, params.content)
    return {}
  })
}

/**
 * Returns the path of a file that the agent wants to read or write, with its links resolved. Rejects with an error for the
 * agent for an unknown session, and if the path is the session's folder or outside of it.
 */
async function allowedPath(
  rights: FileRights,
  { sessionId, path }: { readonly sessionId: string; readonly path: string },
): Promise<string> {
  const folder = rights.folderOf(sessionId)
  if (folder === undefined) throw RequestError.sessionNotFound(sessionId)
  const file = await pathInside(folder, path)
  if (file === (await realpath(folder))) throw RequestError.invalidParams({ path }, 'The path is a folder')
  return file
}

/**
 * Resolves a path's links, and checks that it is the folder or inside of it. The path need not exist. Rejects with an
 * error for the agent if it is outside or not absolute.
 */
export async function pathInside(folder: string, path: string): Promise<string> {
  if (!isAbsolute(path)) throw RequestError.invalidParams({ path }, 'The path must be absolute')
  const [home, place] = await Promise.all([realpath(folder), withoutLinks(resolve(path))])
  const inside = relative(home, place)
  if (inside === '..' || inside.startsWith('../') || isAbsolute(inside))
    throw RequestError.invalidParams({ path }, "The path is outside of the session's folder")
  return place
}

/** The kernel's limit. */
const maxLinks = 40

/**
 * Resolves links in the part of the path that exists, including a link to a file that doesn't exist yet. The rest of the path
 * stays. Rejects with an error for the agent after `maxLinks` links.
 */
async function withoutLinks(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    if (parent === path) return path
    if (links > maxLinks) throw RequestError.invalidParams({ path }, 'The path has too many links')
    const home = await withoutLinks(parent, links)
    const target = await readlink(join(home, basename(path))).catch(() => undefined)
    return target === undefined ? join(home, basename(path)) : await withoutLinks(resolve(home, target), links + 1)
  }
}

/**
 * Reads a file as UTF-8. Rejects with an error for the agent if the path isn't a file, or if the file is larger than
 * `maxBytes`.
 */
async function readText(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw RequestError.resourceNotFound(path)
  if (found.size > maxBytes)
    throw RequestError.invalidParams({ path }, `The file has ${found.size} bytes, more than the limit of ${maxBytes}`)
  return await readFile(path, 'utf8')
}

/**
 * Returns `limit` lines of the text from `line` on, which counts from 1. Without a limit, all of them. The whole text without
 * both.
 */
function excerptOf(
  text: string,
  { line, limit }: { readonly line?: number | null | undefined; readonly limit?: number | null | undefined },
): string {
  if (!line && (limit === undefined || limit === null)) return text
  const from = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(from, limit === undefined || limit === null ? undefined : from + limit)
    .join('\n')
}
