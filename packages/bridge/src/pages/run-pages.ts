import type { Clock } from '@reply/core'
import { createLinks, createPages, type Pages } from '@reply/web'
import type { ReadSecret } from '../config/load.ts'
import type { BridgeConfig } from '../config/schema.ts'
import { BridgeError, messageOf, toError } from '../error.ts'
import type { SharedState } from '../state/state.ts'
import { createPageLinks, grantNow, linkMsIn, type PageLinks } from './page-links.ts'
import { createPageSource, type PageSourceOptions } from './page-source.ts'
import { createUsedLinks } from './used-links.ts'

/** The pages of the runs of a bridge, and the links to them. */
export interface RunPages extends Pages {
  readonly links: PageLinks
}

/** Creates the pages. Throws a `BridgeError` of type `config` if the secret is missing or too short. */
export function createRunPages({
  web,
  secret,
  clock,
  state,
  ...source
}: PageSourceOptions & {
  readonly web: NonNullable<BridgeConfig['web']>
  readonly secret: ReadSecret
  readonly clock: Clock
  readonly state: Pick<SharedState, 'read' | 'commitWithoutLease'>
}): RunPages {
  const { publicUrl } = web
  const linkMs = linkMsIn({ web }) ?? 0
  const links = linksOf(web, secret)
  const pages = createPages({
    source: createPageSource({ ...source, state, clock }),
    judge: (token, runID) => {
      const grant = runID === undefined ? undefined : links.verify(token, runID, clock.now())
      return typeof grant === 'object' ? grantNow(grant, source.people) : grant
    },
    used: createUsedLinks(state, linkMs),
    publicUrl,
    clock,
    onError: (error) => source.onError(toError(error)),
  })
  return { ...pages, links: createPageLinks({ links, publicUrl, linkMs, people: source.people }) }
}

/** Returns the links that the secrets of a config sign. Throws a `BridgeError` of type `config` if one is missing or too short. */
export function linksOf(
  { secret: sources }: NonNullable<BridgeConfig['web']>,
  secret: ReadSecret,
): ReturnType<typeof createLinks> {
  const all = Array.isArray(sources) ? sources : [sources]
  try {
    return createLinks({ secret: all.map((source) => secret(source)) })
  } catch (error) {
    if (error instanceof BridgeError) throw error
    throw new BridgeError('config', `web.secret: ${messageOf(error)}`, { cause: error })
  }
}
