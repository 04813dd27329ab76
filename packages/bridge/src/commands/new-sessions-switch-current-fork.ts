import { oneLine } from '@reply/sink/internal'
import { inRows } from '../chats/channels.ts'
import type { Person } from '../people/people.ts'
import { type ChatPlace, placeNamed } from '../place.ts'
import type { Route } from '../state/decode.ts'
import { followHint } from '../state/follow-hint.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandReply, type CommandServices, type Target } from './command.ts'
import type { RequireDue } from './late-press.ts'

/**
 * Makes the next prompt of the chat start a new session, with the title if one is given. Only stores that in the chat's route, and
 * that the chat no longer works with the session.
 */
export function newCommand({ state, routes }: CommandServices): Command {
  return {
    name: 'new',
    usage: '[title]',
    description: 'begin a new session',
    isChoosing: true,
    run: async ({ place, rest, target }) => {
      const { route } = await target()
      const title = rest === '' ? undefined : rest
      const { writes, hint } = await leaveSession(routes, place, route)
      await state.commit([...routes.writeRoute(place, { ...route, sessionID: undefined, title }), ...writes], { hint })
      return { text: texts.newSession(title && plain(title)) }
    },
  }
}

/**
 * Resolves with the writes after which the place no longer works with the session of its route, unless that is `next`. `hint`: of the
 * sessions whose requests another chat may show from then on: the one that is left, if any, and `next`.
 */
async function leaveSession(
  routes: CommandServices['routes'],
  place: ChatPlace,
  { server, sessionID }: Route,
  next?: string,
): Promise<{ readonly writes: readonly Write[]; readonly hint: string | undefined }> {
  const session = sessionID === undefined || sessionID === next ? undefined : { server, sessionID }
  const writes = session ? await routes.writesToLeave(place, session) : []
  const changed = [next, writes.length > 0 ? sessionID : undefined].filter((id) => id !== undefined)
  return { writes, hint: changed.length > 0 ? followHint(server, ...changed) : undefined }
}

/** How many sessions a page lists. */
const perPage = 8
/** How much of a title or of a wrong id is shown, in UTF-16 units. */
const labelLength = 60

/** A session to choose from. */
interface SessionChoice {
  readonly sessionID: string
  readonly title: string
}

/** A request of a person in a place about the sessions there. */
export interface SessionRequest extends Target {
  readonly place: ChatPlace
  readonly person: Person
}

/** Lists the sessions of the chat, and for some people others of the project, see `sessionChoices`. */
export function sessionsCommand(services: CommandServices): Command {
  return {
    name: 'sessions',
    description: 'the sessions of this chat',
    isChoosing: true,
    run: async ({ place, person, target }) => await sessionPage(services, { place, person, ...(await target()) }, 1),
  }
}

/** Makes the chat use another session of the list, and leave the one that it uses. */
export function switchCommand(services: CommandServices): Command {
  return {
    name: 'switch',
    usage: '<number or id>',
    description: 'continue another session',
    isOnce: true,
    isChoosing: true,
    run: async ({ place, person, rest, target }) =>
      await switchToSession(services, { place, person, ...(await target()) }, rest),
  }
}

/**
 * Returns the sessions that a person can choose in the place, in the order of their numbers: those used there, or all of the
 * project for an admin in a private chat without mirrors. With the right `approve`, there and in the server's `homeChat`, also those
 * that no other chat works with. Only those used there if the config has no directory for the server: it then lists those of all folders.
 * Leaves out sessions that the server does not list.
 */
async function sessionChoices(
  { config, routes, mirrors, channels }: CommandServices,
  { place, person, route, client }: SessionRequest,
): Promise<readonly SessionChoice[]> {
  const used = (await routes.usedSessions(place)).filter(({ server }) => server === route.server)
  const directory = config.servers[route.server]?.directory
  const sessions = await client.sessions({ directory })
  // Not in any group, because all of its members see the list, also those without the right.
  const isPrivate = place.chat.kind === 'private' && mirrors.others(place).length === 0
  const showsAll = person.may.has('admin') && isPrivate && directory !== undefined
  const homeChat = config.servers[route.server]?.homeChat
  const isHome = homeChat !== undefined && mirrors.keyOf(placeNamed(homeChat)) === mirrors.keyOf(place)
  const showsDesk = !showsAll && directory !== undefined && person.may.has('approve') && (isPrivate || isHome)
  const titles = new Map(sessions.map(({ sessionID, title }) => [sessionID, title ?? texts.untitled]))
  const own = used.map(({ sessionID }) => sessionID)
  const all = sessions.map(({ sessionID }) => sessionID)
  const ids = showsAll ? all : showsDesk ? [...own, ...(await freeIn(all))] : own
  // Omits sessions of other directories and deleted ones, which the server doesn't list.
  return ids.flatMap((sessionID) => {
    const title = titles.get(sessionID)
    return title === undefined ? [] : [{ sessionID, title }]
  })

  /** Returns the sessions that were not used in the place and that no other chat works with. */
  async function freeIn(sessionIDs: readonly string[]): Promise<readonly string[]> {
    const working = await routes.workingChats(route.server)
    const isElsewhere = (id: string): boolean => {
      const chat = working.get(id)
      return chat !== undefined && channels.has(chat.channel) && mirrors.keyOf(chat) !== mirrors.keyOf(place)
    }
    return sessionIDs.filter((id) => !own.includes(id) && !isElsewhere(id))
  }
}

/**
 * Returns a page of the sessions, with buttons to switch to each and to turn the page. A page that does not exist becomes the
 * nearest one that does. Without sessions, says that there are none.
 */
export async function sessionPage(
  services: CommandServices,
  request: SessionRequest,
  wantedPage: number,
): Promise<CommandReply> {
  const all = await sessionChoices(services, request)
  if (all.length === 0) return { text: texts.noSessions }
  const pages = Math.ceil(all.length / perPage)
  const page = Math.min(Math.max(1, wantedPage), pages)
  const firstIndex = (page - 1) * perPage
  const shown = all.slice(firstIndex, firstIndex + perPage)
  const name = ({ title }: SessionChoice): string => oneLine(title, labelLength)
  const lines = shown.map((choice, index) => {
    const mark = choice.sessionID === request.route.sessionID ? ' ✓' : ''
    return `${firstIndex + index + 1}. ${plain(name(choice))}${mark}`
  })
  const pageButtons = [
    ...(page > 1 ? [{ label: texts.newer, data: `b/page/${page - 1}` }] : []),
    ...(page < pages ? [{ label: texts.older, data: `b/page/${page + 1}` }] : []),
  ]
  return {
    text: [texts.sessions(page, pages), '', ...lines].join('\n'),
    buttons: [
      ...inRows(
        shown.map(({ sessionID }, index) => ({ label: String(firstIndex + index + 1), data: `b/switch/${sessionID}` })),
      ),
      ...(pageButtons.length > 0 ? [pageButtons] : []),
    ],
  }
}

/**
 * Switches the place to a session, by its number in the list or by the start of its id with at least five characters, and
 * returns the reply. Throws a `CommandRefusal` if none or several match. For a press of a button, see `HandlePress`: returns undefined
 * if it has switched before.
 */
export async function switchToSession(
  services: CommandServices,
  request: SessionRequest,
  numberOrID: string,
  { requireDue, once }: { readonly requireDue?: RequireDue; readonly once?: Write } = {},
): Promise<CommandReply | undefined> {
  const { state, routes } = services
  const { place, route } = request
  const all = await sessionChoices(services, request)
  const byID = all.filter(({ sessionID }) => numberOrID.length > 4 && sessionID.startsWith(numberOrID))
  const chosen =
    (/^\d+$/.test(numberOrID) ? all[Number(numberOrID) - 1] : undefined) ?? (byID.length === 1 ? byID[0] : undefined)
  if (!chosen) throw new CommandRefusal(texts.notSwitched(plain(oneLine(numberOrID, labelLength))))
  const { sessionID, title } = chosen
  const left = await leaveSession(routes, place, route, sessionID)
  const writes = [...routes.writeSwitch(place, { ...route, sessionID }), ...left.writes, ...(once ? [once] : [])]
  if (!(await state.commit(writes, { requireDue, hint: left.hint }))) return undefined
  return { text: texts.switched(plain(title)), session: { server: route.server, sessionID } }
}

/**
 * Shows the session, server, agent and model of the chat. A session that the server does not list is untitled. Only says so if
 * the chat has no session yet.
 */
export function currentCommand({ config }: CommandServices): Command {
  return {
    name: 'current',
    description: 'the session of this chat',
    isChoosing: true,
    run: async ({ target }) => {
      const { route, client } = await target()
      const { sessionID, server, agent, model } = route
      if (sessionID === undefined) return { text: texts.noSession }
      const sessions = await client.sessions({ directory: config.servers[server]?.directory })
      const facts = {
        title: plain(sessions.find((one) => one.sessionID === sessionID)?.title ?? texts.untitled),
        id: sessionID,
        server: plain(server),
        agent: plain(agent ?? texts.byDefault),
        model: plain(model ? `${model.providerID}/${model.modelID}` : texts.byDefault),
      }
      return { text: texts.current(facts), session: { server, sessionID } }
    },
  }
}

/** Copies the session of the chat, and makes the chat leave it for the copy. Only says so if the chat has no session yet. */
export function forkCommand({ state, routes }: CommandServices): Command {
  return {
    name: 'fork',
    description: 'go on in a copy of the session',
    isOnce: true,
    isPrompting: true,
    run: async ({ place, target }) => {
      const { route, client } = await target()
      if (route.sessionID === undefined) return { text: texts.noSession }
      const { sessionID, title } = await client.fork(route.sessionID)
      const { writes, hint } = await leaveSession(routes, place, route)
      await state.commit([...routes.writeSwitch(place, { ...route, sessionID }), ...writes], { hint })
      return { text: texts.forked(plain(title ?? texts.untitled)), session: { server: route.server, sessionID } }
    },
  }
}
