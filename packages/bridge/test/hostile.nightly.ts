import { mainPlaces, otherPlaces } from './hostile/chats.ts'
import { showAsTextAnywhere, showAsTextInCards } from './hostile/check.ts'

showAsTextAnywhere(otherPlaces)
showAsTextInCards(mainPlaces)
