import { type FollowMode, followModes } from '../config/schema.ts'
import type { ChatPlace } from '../place.ts'
import type { FollowScope } from '../runs/follow-target.ts'
import { isQuietRun } from '../state/execution.ts'
import { followHint } from '../state/follow-hint.ts'
import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandServices } from './command.ts'

/** Shows what the chat shows of runs that were started elsewhere, or changes it. */
export function followCommand({ state, routes, runs, followRules }: CommandServices): Command {
  return {
    name: 'follow',
    usage: '[asks | all | none]',
    description: 'what this chat shows of runs that were started elsewhere',
    isApproving: true,
    run: async ({ place, rest, target }) => {
      const { route } = await target()
      const chosen = rest.toLowerCase()
      if (chosen === '')
        return { text: `${scopeText(await followRules.scopeOf(place, route))}\n\n${plain(texts.followHelp)}` }
      const follow = followModes.find((mode) => mode === chosen)
      if (!follow) throw new CommandRefusal(texts.followWhat(plain(rest)))
      await state.commit(routes.writeRoute(place, { ...route, follow }), { hint: followHint(route.server) })
      if (follow !== 'none') for (const run of runs.followed(place)) run.lookAgain?.()
      const text = scopeText(await followRules.scopeOf(place, route))
      return { text: hasOtherRuns(place, follow) ? `${text} ${texts.followGoesOn[follow]}` : text }
    },
  }

  /** Whether the chat follows a run that shows something other than `follow`. With `none`, it gets no new requests of any. */
  function hasOtherRuns(place: ChatPlace, follow: FollowMode): boolean {
    const executions = runs.followed(place).map((run) => run.execution())
    const quiet = executions.filter((one) => one.finishedAt === undefined && isQuietRun(one))
    return quiet.some(({ followed }) => followed !== follow && (follow !== 'none' || followed === 'all'))
  }
}

/** Returns what a chat shows, with the sessions to which that applies. */
function scopeText({ follow, session, others, hasNoAsks }: FollowScope): string {
  if (follow === 'none' || (follow === 'asks' && hasNoAsks))
    return follow === 'none' ? texts.follow.none : texts.followNoAsks
  const own = session === 'here' ? texts.followSession.here : texts.followSession.next
  const appliesTo = others === 'here' ? [own, texts.followOthers.here] : [own]
  return [
    texts.follow[follow],
    texts.followAppliesTo(appliesTo),
    ...(session === 'elsewhere' ? [texts.followSession.elsewhere] : []),
    ...(others === 'here' || (others === 'last' && hasNoAsks) ? [] : [texts.followOthers[others]]),
  ].join(' ')
}
