import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { TestingError } from '../error.ts'

/** The reason to give in the name of tests that are skipped because `hasPostgres()` is false. */
export const needsPostgres = 'needs PostgreSQL: apt install postgresql, or set REPLY_POSTGRES to its bin folder'

/** Those that a server of its own needs, besides the programs that these start. */
const needed = ['initdb', 'postgres', 'psql', 'pg_basebackup']

/** Where Debian keeps a folder for each version. Their programs aren't in PATH. */
const debian = '/usr/lib/postgresql'

/**
 * Whether PostgreSQL's programs are on this machine. Throws with type `install` if `REPLY_POSTGRES` names a folder
 * without them, so that a wrong variable doesn't skip tests.
 */
export const hasPostgres = (): boolean => programsFolder() !== undefined

/** Returns the folder of PostgreSQL's programs. Throws with type `install` if there is none. */
export const requirePrograms = (): string => {
  const folder = programsFolder()
  if (folder === undefined) throw new TestingError('install', `This ${needsPostgres}.`)
  return folder
}

/** The folder in `REPLY_POSTGRES`, else one in PATH, else Debian's newest. Undefined if none has the programs. */
const programsFolder = (): string | undefined => {
  const { REPLY_POSTGRES: named, PATH = '' } = process.env
  if (named) {
    if (hasPrograms(named)) return named
    throw new TestingError('install', `REPLY_POSTGRES is ${named}, which lacks one of ${needed.join(', ')}.`)
  }
  // A program in PATH may be a link into the folder that has them all.
  const inPath = PATH.split(delimiter)
    .map((folder) => join(folder, 'initdb'))
    .filter((program) => existsSync(program))
    .map((program) => dirname(realpathSync(program)))
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const ofDebian = versions.toSorted((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, 'bin'))
  return [...inPath, ...ofDebian].find(hasPrograms)
}

/** Whether a folder has every program that is needed. */
const hasPrograms = (folder: string): boolean => needed.every((program) => existsSync(join(folder, program)))

/** The user that programs run as, by number. */
export interface ProgramUser {
  readonly uid: number
  readonly gid: number
}

/**
 * Returns the user to run PostgreSQL as: undefined for ours. PostgreSQL refuses to run as root, so for root it is the
 * user `postgres`, or without one the user without rights, which is number 65534 on Linux.
 */
export const programUser = (): ProgramUser | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const [, uid = 65534, gid = 65534] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

/** Where and as which user PostgreSQL's programs run. */
export interface ProgramPlace {
  /** The folder of the programs. */
  readonly bin: string
  /** The working folder, which is also their home, so that they read no settings of ours. */
  readonly root: string
  /** Undefined for ours. */
  readonly user: ProgramUser | undefined
}

/** The environment of PostgreSQL's programs: none of our own PG* variables, and messages in English. */
export const programEnvironment = (root: string): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: root,
  LC_ALL: 'C',
})

const execute = promisify(execFile)

/**
 * Runs one of PostgreSQL's programs, and resolves with its stdout. It connects with the given password. Rejects with
 * type `launch` and its stderr if it fails.
 */
export const runProgram = async (
  { bin, root, user }: ProgramPlace,
  program: string,
  args: readonly string[],
  password = '',
): Promise<string> => {
  try {
    // Not an argument, because every user of the machine can read those.
    const env = { ...programEnvironment(root), PGPASSWORD: password }
    return (await execute(join(bin, program), args, { cwd: root, env, ...user })).stdout.trim()
  } catch (error) {
    throw new TestingError('launch', `PostgreSQL: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}
