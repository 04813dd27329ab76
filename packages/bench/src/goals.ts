import type { Goal } from './goal.ts'
import { agUiGoals } from './goals/ag-ui.ts'
import { bridgeGoals } from './goals/bridge.ts'
import { commandGoals, sizeGoals } from './goals/command-and-size.ts'
import { heapGoals, historyGoals, liveGoals, resyncGoals } from './goals/connection.ts'
import { channelGoals, deliveryGoals, paceGoals } from './goals/delivery.ts'
import { foreignGoals } from './goals/foreign.ts'
import { growthGoals } from './goals/growth.ts'
import { hostileGoals } from './goals/hostile.ts'
import { inspectGoals } from './goals/inspect.ts'
import { pieceGoals } from './goals/pieces.ts'
import { postgresGoals } from './goals/postgres.ts'
import { byteGoals, peerGoals, sessionGoals } from './goals/stream.ts'
import { uiGoals } from './goals/ui.ts'
import { webGoals } from './goals/web.ts'

/** All measurements, in the order of the table. */
export const goals: readonly Goal[] = [
  ...byteGoals,
  ...growthGoals,
  ...peerGoals,
  ...pieceGoals,
  ...sessionGoals,
  ...liveGoals,
  ...foreignGoals,
  ...resyncGoals,
  ...historyGoals,
  ...heapGoals,
  ...deliveryGoals,
  ...channelGoals,
  ...paceGoals,
  ...bridgeGoals,
  ...postgresGoals,
  ...uiGoals,
  ...agUiGoals,
  ...inspectGoals,
  ...webGoals,
  ...commandGoals,
  ...hostileGoals,
  ...sizeGoals,
]
