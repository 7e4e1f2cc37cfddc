// flame_draw
