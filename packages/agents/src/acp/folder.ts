import { readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'

/**
 * The place without links, if it is the folder or inside of it; it need not exist. Rejects with an error for the agent if
 * it is outside or not absolute.
 */
export async function placeInside(folder: string, path: string): Promise<string> {
  if (!isAbsolute(path)) throw RequestError.invalidParams({ path }, 'The path must be absolute')
  const [home, place] = await Promise.all([realpath(folder), withoutLinks(resolve(path))])
  const inside = relative(home, place)
  if (inside === '..' || inside.startsWith('../') || isAbsolute(inside))
    throw RequestError.invalidParams({ path }, "The path is outside of the session's folder")
  return place
}

/** As many links as the kernel follows. */
const maxLinks = 40

/** Follows the links of as much of the path as exists, also one that leads to a file that is not there yet. */
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
